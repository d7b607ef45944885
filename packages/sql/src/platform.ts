import type { DuckDBConnection } from "@duckdb/node-api";
import type { Page, Store } from "@skein/core";
import type { Session } from "@skein/protocol";
import { appendRows } from "./load-rows.ts";
import { PLATFORM_COLUMNS } from "./tables/platform-tables.ts";

type TableName = keyof typeof PLATFORM_COLUMNS;
type Row = Readonly<Record<string, unknown>>;

/** Statements that may need the platform's tables. */
export function namesPlatform(sql: string): boolean {
  return /\b"?(platform|agent|api)"?\s*\.|\ball_(sessions|messages|usage)\b/i.test(sql);
}

/** Fills the platform's tables from a store, of whatever kind. */
export async function loadPlatform(connection: DuckDBConnection, store: Store): Promise<void> {
  const add = async (table: TableName, rows: readonly Row[]): Promise<void> =>
    appendRows(connection, table, PLATFORM_COLUMNS[table], rows);
  for (const table of Object.keys(PLATFORM_COLUMNS)) await connection.run(`DELETE FROM ${table}`);
  const tenants = new Set<string>();
  let events: Row[] = [];
  let sessionId: string | undefined;
  const finish = async (): Promise<void> => {
    if (sessionId === undefined) return;
    await add("platform.events", events);
    events = [];
    const session = await store.get(sessionId);
    // Deleted in the meantime.
    if (!session) return;
    tenants.add(session.tenant);
    await loadSession(store, session, add);
  };
  // Session by session, so that only one log is in memory.
  for await (const event of store.scan()) {
    if (event.session_id !== sessionId) await finish();
    sessionId = event.session_id;
    events.push({ ...event });
  }
  await finish();
  for (const tenant of tenants) await loadAgents(store, tenant, add);
}

type Add = (table: TableName, rows: readonly Row[]) => Promise<void>;

async function loadSession(store: Store, session: Session, add: Add): Promise<void> {
  const { id, status, outcome } = session;
  const isUnderWay = status !== "idle";
  const platformStatus = isUnderWay
    ? "running"
    : outcome === null
      ? "pending"
      : outcome === "completed"
        ? outcome
        : "failed";
  const apiStatus = platformStatus === "completed" ? "completed" : platformStatus === "failed" ? "error" : "active";
  await add("platform.sessions", [{ ...session, status: platformStatus }]);
  await add("api.sessions", [{ ...session, status: apiStatus, total_cost_usd: session.cost_micros / 1_000_000 }]);
  await add(
    "api.checkpoints",
    (await store.checkpoints(id)).map((checkpoint) => ({ ...checkpoint })),
  );
  for await (const page of pages((cursor) => store.messages(id, cursor)))
    await add(
      "platform.messages",
      page.map((message) => ({ ...message })),
    );
  for await (const page of pages((cursor) => store.runs(id, cursor))) {
    await add(
      "agent.conversation_history",
      page.map((run) => ({
        ...run,
        conversation_id: run.id,
        agent_uuid: id,
        run_id: run.id,
        cost: run.unpriced_calls > 0 ? {} : (run.cost ?? {}),
        sequence_number: run.number,
      })),
    );
    const { model, working_directory } = session;
    await add(
      "skein.runs",
      page.map((run) => ({ ...run, model: run.cost?.model_id ?? model, working_directory })),
    );
  }
}

async function loadAgents(store: Store, tenant: string, add: Add): Promise<void> {
  for await (const page of pages((cursor) => store.records.list({ tenant, kind: "agent", ...cursor })))
    await add(
      "platform.agents",
      page.map(({ id, value }) => ({ ...(value as Row), id })),
    );
}

async function* pages<Item>(
  next: (cursor: { readonly cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<readonly Item[]> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Page<Item> = await next(cursor === undefined ? {} : { cursor });
    yield page.items;
    ({ cursor } = page);
  }
}
