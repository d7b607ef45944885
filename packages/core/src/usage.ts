import type { Run, Session, UsageRow } from "@skein/protocol";
import type { Store } from "./store.ts";

/** What runs used, added up. A run counts for the time at which it began. */
export interface UsageQuery {
  readonly tenant: string;
  readonly by: "day" | "model" | "agent" | "session";
  readonly agentId?: string;
  /** The first moment that counts, and the first that no longer does, as ISO 8601 in UTC. */
  readonly from?: string;
  readonly to?: string;
}

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
      if (run.started_at >= from && run.started_at < to) add(rows, keyOf(by, session, run), run);
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

function keyOf(by: UsageQuery["by"], session: Session, { started_at, cost }: Run): string {
  const keys = {
    day: started_at.slice(0, 10),
    model: cost?.model_id ?? session.model,
    agent: session.agent_id,
    session: session.id,
  };
  return keys[by];
}

function add(rows: Map<string, UsageRow>, key: string, { usage, cost_micros, unpriced_calls }: Run): void {
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
  row.input_tokens += usage.input_tokens;
  row.output_tokens += usage.output_tokens;
  row.cache_creation_input_tokens += usage.cache_creation_input_tokens;
  row.cache_read_input_tokens += usage.cache_read_input_tokens;
  row.cost_micros += cost_micros;
  row.unpriced_calls += unpriced_calls;
}
