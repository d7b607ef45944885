import type { Sessions } from "@skein/core";
import type { Run, Session, UsageRow } from "@skein/protocol";

interface UsageQuery {
  readonly group_by: "day" | "model" | "agent" | "session";
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly agent_id?: string | undefined;
}

/** What of a run counts. */
type Used = Pick<Run, "started_at" | "usage" | "cost_micros" | "unpriced_calls"> & { readonly model: string };

/** The runs of a session as they were when its row had these counters, which grow with everything that a run uses. */
interface Known {
  readonly counters: string;
  readonly runs: readonly Used[];
}

/** Sessions whose runs are kept, for each tenant. */
const KEPT = 20_000;
const PAGE = 200;

/** What is known of a tenant's sessions. Runs are read again only for those that used something since. */
const known = new WeakMap<Sessions, Map<string, Known>>();

/** What runs used, added up. A run counts for the day on which it began. */
export async function usageOf(sessions: Sessions, query: UsageQuery): Promise<UsageRow[]> {
  const { group_by, from = "", to = "~", agent_id: agentId } = query;
  const rows = new Map<string, UsageRow>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await sessions.list({
      limit: PAGE,
      ...(agentId !== undefined && { agentId }),
      ...(cursor !== undefined && { cursor }),
    });
    for (const session of page.items) {
      if (session.total_runs === 0) continue;
      for (const run of await runsOf(sessions, session)) {
        if (run.started_at < from || run.started_at >= to) continue;
        const day = run.started_at.slice(0, 10);
        add(rows, { day, model: run.model, agent: session.agent_id, session: session.id }[group_by], run);
      }
    }
    cursor = page.cursor;
  }
  return [...rows.values()].sort((a, b) => (a.key < b.key ? 1 : -1));
}

async function runsOf(sessions: Sessions, session: Session): Promise<readonly Used[]> {
  const ours = known.get(sessions) ?? new Map<string, Known>();
  known.set(sessions, ours);
  const counters = countersOf(session);
  const before = ours.get(session.id);
  if (before?.counters === counters) return before.runs;
  const runs = await readRuns(sessions, session);
  if (ours.size >= KEPT) ours.clear();
  ours.set(session.id, { counters, runs });
  return runs;
}

function countersOf({ total_runs, usage, cost_micros, unpriced_calls, model }: Session): string {
  return [total_runs, ...Object.values(usage), cost_micros, unpriced_calls, model].join(" ");
}

async function readRuns(sessions: Sessions, session: Session): Promise<readonly Used[]> {
  const runs: Used[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await sessions.runs(session.id, { limit: PAGE, ...(cursor !== undefined && { cursor }) });
    for (const { started_at, usage, cost, cost_micros, unpriced_calls } of page.items)
      runs.push({ started_at, usage, cost_micros, unpriced_calls, model: cost?.model_id ?? session.model });
    cursor = page.cursor;
  }
  return runs;
}

function add(rows: Map<string, UsageRow>, key: string, { usage, cost_micros, unpriced_calls }: Used): void {
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
