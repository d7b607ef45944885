import type { Run, Session, UsageRow } from "@skein/protocol";
import { COUNTERS, type Counters } from "../log/counters.ts";
import type { Store, UsageQuery } from "../ports/store.ts";

const PAGE = 1000;

/** For stores that cannot ask a database: adds up run by run. */
export async function addedUsage(
  { list, runs }: Pick<Store, "list" | "runs">,
  { tenant, by, agentId, from = "", to = "~" }: UsageQuery,
): Promise<readonly UsageRow[]> {
  const rows = new Map<string, UsageRow>();
  const sessions = { tenant, limit: PAGE, ...(agentId !== undefined && { agentId }) };
  for await (const session of pages((cursor) => list({ ...sessions, ...cursor }))) {
    if (session.total_runs === 0) continue;
    for await (const run of pages((cursor) => runs(session.id, { limit: PAGE, ...cursor })))
      if (run.started_at >= from && run.started_at < to) count(rows, by, session, run);
  }
  return [...rows.values()];
}

async function* pages<Item>(
  page: (cursor: { cursor?: string }) => ReturnType<() => Promise<{ items: readonly Item[]; cursor: string | null }>>,
): AsyncGenerator<Item> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const { items, cursor: next } = await page(cursor === undefined ? {} : { cursor });
    yield* items;
    cursor = next;
  }
}

function count(rows: Map<string, UsageRow>, by: UsageQuery["by"], session: Session, run: Run): void {
  const { started_at, usage, cost_micros, unpriced_calls, models } = run;
  const whole = { ...usage, cost_micros, unpriced_calls };
  if (by !== "model" || models.length === 0) {
    const keys = { day: started_at.slice(0, 10), model: session.model, agent: session.agent_id, session: session.id };
    add(rows, keys[by], whole);
  } else for (const { model, ...used } of models) add(rows, model, used);
}

function add(rows: Map<string, UsageRow>, key: string, used: Counters): void {
  const row = rows.get(key) ?? {
    key,
    runs: 0,
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cost_micros: 0,
    unpriced_calls: 0,
  };
  rows.set(key, row);
  row.runs += 1;
  for (const name of COUNTERS) row[name] += used[name];
}
