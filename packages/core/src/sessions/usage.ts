import type { Run, Session, ToolUsageRow, UsageRow } from "@skein/protocol";
import { addPicos, microsOf, timeOf } from "@skein/protocol";
import { type ZoneShift, dayOf } from "./zone-days.ts";
import type { Store, ToolUsageQuery, UsageKey, UsageQuery } from "../ports/store.ts";

const PAGE = 1000;

/** Adds up usage run by run, for stores without a database. */
export async function addedUsage(
  store: Pick<Store, "list" | "runs" | "get">,
  { tenant, by, secondKey, agentId, sessionId, from = "", to = "~", shifts }: UsageQuery,
): Promise<readonly UsageRow[]> {
  const rows = new Map<string, UsageRow>();
  const keys = secondKey === undefined ? [by] : [by, secondKey];
  for await (const session of sessionsOf(store, { tenant, agentId, sessionId })) {
    if (session.total_runs === 0) continue;
    for await (const run of pages((cursor) => store.runs(session.id, { limit: PAGE, ...cursor })))
      if (run.started_at >= from && run.started_at < to) count(rows, keys, { session, run, shifts });
  }
  return [...rows.values()];
}

/** Counts tool calls log by log, for stores without a database. */
export async function countedTools(
  store: Pick<Store, "list" | "get" | "read">,
  { tenant, agentId, sessionId, from = "", to = "~", shifts }: ToolUsageQuery,
): Promise<readonly ToolUsageRow[]> {
  const rows = new Map<string, ToolUsageRow>();
  for await (const { id } of sessionsOf(store, { tenant, agentId, sessionId }))
    for (const event of await store.read(id)) {
      const time = timeOf(event);
      if (event.event_type !== "tool.completed" || time < from || time >= to) continue;
      const { name: tool, outcome, is_error, duration_ms } = event.data;
      const day = dayOf(time, shifts);
      const place = JSON.stringify([day, tool]);
      const before = rows.get(place) ?? { day, tool, calls: 0, failed: 0, unknown: 0, duration_ms: 0 };
      const isUnknown = outcome === "unknown";
      rows.set(place, {
        ...before,
        calls: before.calls + 1,
        failed: before.failed + Number(!isUnknown && (outcome === "failed" || is_error)),
        unknown: before.unknown + Number(isUnknown),
        duration_ms: before.duration_ms + duration_ms,
      });
    }
  return [...rows.values()];
}

async function* sessionsOf(
  { list, get }: Pick<Store, "list" | "get">,
  { tenant, agentId, sessionId }: { readonly [Key in "tenant" | "agentId" | "sessionId"]: string | undefined },
): AsyncGenerator<Session> {
  if (sessionId === undefined) {
    const filter = { tenant: tenant as string, limit: PAGE, ...(agentId !== undefined && { agentId }) };
    yield* pages((cursor) => list({ ...filter, ...cursor }));
    return;
  }
  const session = await get(sessionId);
  if (session?.tenant === tenant && (agentId === undefined || session?.agent_id === agentId) && session) yield session;
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

type Used = Omit<UsageRow, "key" | "second_key" | "runs">;

interface Counted {
  readonly session: Session;
  readonly run: Run;
  readonly shifts: readonly ZoneShift[] | undefined;
}

function count(rows: Map<string, UsageRow>, by: readonly UsageKey[], { session, run, shifts }: Counted): void {
  const keysWith = (model: string): readonly string[] => {
    const keys = {
      day: dayOf(run.started_at, shifts),
      model,
      agent: session.agent_id,
      session: session.id,
      project: session.working_directory ?? "",
      key: session.opened_by ?? "",
    };
    return by.map((key) => keys[key]);
  };
  if (!by.includes("model") || run.models.length === 0) {
    const { usage, cost_micros, cost_picos, unpriced_calls, estimated_calls, simulated_calls } = run;
    const whole = { ...usage, cost_micros, cost_picos, unpriced_calls, estimated_calls, simulated_calls };
    return add(rows, keysWith(session.model), whole);
  }
  for (const { model, ...used } of run.models) add(rows, keysWith(model), used);
}

function add(rows: Map<string, UsageRow>, [key = "", second]: readonly string[], used: Used): void {
  const place = JSON.stringify([key, second]);
  const before = rows.get(place);
  const cost_picos = addPicos(before?.cost_picos ?? "0", BigInt(used.cost_picos));
  rows.set(place, {
    key,
    ...(second !== undefined && { second_key: second }),
    runs: (before?.runs ?? 0) + 1,
    input_tokens: (before?.input_tokens ?? 0) + used.input_tokens,
    output_tokens: (before?.output_tokens ?? 0) + used.output_tokens,
    cache_creation_input_tokens: (before?.cache_creation_input_tokens ?? 0) + used.cache_creation_input_tokens,
    cache_read_input_tokens: (before?.cache_read_input_tokens ?? 0) + used.cache_read_input_tokens,
    cost_micros: microsOf(BigInt(cost_picos)),
    cost_picos,
    unpriced_calls: (before?.unpriced_calls ?? 0) + used.unpriced_calls,
    estimated_calls: (before?.estimated_calls ?? 0) + used.estimated_calls,
    simulated_calls: (before?.simulated_calls ?? 0) + used.simulated_calls,
  });
}
