import type { DuckDBConnection } from "@duckdb/node-api";
import type { Store } from "@skein/core";
import type { Event } from "@skein/protocol";
import { z } from "zod";
import { createLoader } from "../database/load-rows.ts";
import { type AddRows, addRecords, addSession, pages } from "./session-rows.ts";
import { PLATFORM_COLUMNS } from "../tables/platform-tables.ts";

/** Replaces all rows of the platform's tables with the rows of a store. */
export async function loadPlatform(connection: DuckDBConnection, store: Store): Promise<void> {
  const loader = createLoader(connection);
  const add: AddRows = async (table, rows) => loader.add(table, PLATFORM_COLUMNS[table], rows);
  for (const table of Object.keys(PLATFORM_COLUMNS)) await connection.run(`DELETE FROM ${table}`);
  const tenants = new Set(await tenantsOf(store));
  let events: Event[] = [];
  let sessionId: string | undefined;
  const finish = async (): Promise<void> => {
    if (sessionId === undefined) return;
    const session = await store.get(sessionId);
    // The session is undefined if it was deleted during the scan.
    if (session) {
      tenants.add(session.tenant);
      await addSession(store, { session, events }, add);
    }
    events = [];
  };
  // The sessions are loaded one at a time, so that only one log is in memory.
  for await (const event of store.scan()) {
    if (event.session_id !== sessionId) await finish();
    sessionId = event.session_id;
    events.push(event);
  }
  await finish();
  for (const tenant of tenants) await addRecords(store, tenant, add);
  await loader.finish();
}

/** Tenants are also found through the API keys of the server, because a tenant may have agents but no session yet. */
const KEYS = { tenant: "$keys", kind: "api_key" } as const;
const Key = z.object({ tenant: z.string() });

async function tenantsOf(store: Store): Promise<readonly string[]> {
  const tenants = ["default"];
  for await (const page of pages((cursor) => store.records.list({ ...KEYS, ...cursor })))
    tenants.push(...page.flatMap(({ value }) => Key.safeParse(value).data?.tenant ?? []));
  return tenants;
}
