/** Reads the rows of the platform's tables from a store. The caller decides where to put the rows. */
import type { Page, Store } from "@skein/core";
import type { Event, Session } from "@skein/protocol";
import { configOf, readLog } from "./log-rows.ts";
import type { PlatformRow, PlatformTable } from "../tables/platform-tables.ts";

/** Receives rows for one table. */
export type AddRows = (table: PlatformTable, rows: readonly PlatformRow[]) => Promise<void>;

/** Adds all rows of one session. */
export async function addSession(
  store: Store,
  { session, events }: { readonly session: Session; readonly events: readonly Event[] },
  add: AddRows,
): Promise<void> {
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
  await add(
    "platform.events",
    events.map((event) => ({ ...event })),
  );
  const log = readLog(id, events);
  await add("api.session_messages", log.sessionMessages);
  await add("skein.actions", log.actions);
  await add("skein.transcripts", [log.transcript]);
  await add("agent.agent_config", [configOf(session, log, await store.awaits(id))]);
  await add("platform.sessions", [{ ...session, status: platformStatus }]);
  await add("api.sessions", [{ ...session, status: apiStatus, total_cost_usd: exactDollars(session.cost_picos) }]);
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
        messages: log.runMessages.get(run.id) ?? [],
        cost: run.unpriced_calls > 0 ? {} : (run.cost ?? {}),
        extras: {},
        sequence_number: run.number,
        created_at: run.completed_at ?? run.started_at,
      })),
    );
    const { model, working_directory } = session;
    await add(
      "skein.runs",
      page.map((run) => ({
        ...run,
        cost_usd: exactDollars(run.cost_picos),
        model: run.cost?.model_id ?? model,
        working_directory,
      })),
    );
  }
}

/** Returns an exact amount in dollars, as decimal text for databases. */
function exactDollars(picos: string): string {
  const digits = picos.padStart(13, "0");
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`;
}

/** Adds the agents, the models and the audit log of a tenant. */
export async function addRecords(store: Store, tenant: string, add: AddRows): Promise<void> {
  for (const [kind, table] of [
    ["agent", "platform.agents"],
    ["llm_model", "platform.llm_models"],
    ["audit", "skein.audit"],
  ] as const)
    for await (const page of pages((cursor) => store.records.list({ tenant, kind, ...cursor })))
      await add(
        table,
        page.map(({ id, value }) => ({ ...(value as PlatformRow), id })),
      );
}

/** Yields every page of a list. */
export async function* pages<Item>(
  next: (cursor: { readonly cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<readonly Item[]> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Page<Item> = await next(cursor === undefined ? {} : { cursor });
    yield page.items;
    ({ cursor } = page);
  }
}
