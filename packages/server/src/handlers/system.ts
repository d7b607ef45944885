import { UsageRow } from "@skein/protocol";
import { ApiError } from "../api-error.ts";
import type { Call, Handlers } from "../call.ts";
import { openApi } from "../openapi.ts";
import { HOME_SCRIPT, HOME_STYLE, docsPage, homePage } from "../pages.ts";

/** What the server says about itself. */
export const systemHandlers = {
  async health(_, call) {
    const { version } = call.shared.deps.description;
    if (call.principal.scopes.length === 0) return { status: "ok" as const, version };
    const dependencies = [await storeHealth(call)];
    const status = dependencies.every((one) => one.status === "ok") ? ("ok" as const) : ("degraded" as const);
    return { status, version, dependencies };
  },
  async ready(_, { shared }) {
    if (shared.isClosing()) throw new ApiError("closed", "The server is stopping.");
    return { status: "ready" as const };
  },
  async home(_, { shared }) {
    return { raw: { type: "text/html; charset=utf-8", payload: homePage(shared.deps.description) } };
  },
  async homeScript() {
    return { raw: { type: "text/javascript; charset=utf-8", payload: HOME_SCRIPT } };
  },
  async homeStyle() {
    return { raw: { type: "text/css; charset=utf-8", payload: HOME_STYLE } };
  },
  async openapi(_, { shared }) {
    return openApi(shared.deps.description.version);
  },
  async docs() {
    return { raw: { type: "text/html; charset=utf-8", payload: docsPage() } };
  },
  async metrics(_, { shared }) {
    const payload = shared.metrics.text({ streams: shared.streams.size });
    return { raw: { type: "text/plain; version=0.0.4; charset=utf-8", payload } };
  },
  async usage({ query }, call) {
    return { data: await usageOf(call, query) };
  },
} satisfies Partial<Handlers>;

async function storeHealth({ shared }: Call) {
  const { store, description } = shared.deps;
  const began = performance.now();
  const status = await store.records.get("$health", "probe", "none").then(
    () => "ok" as const,
    () => "failed" as const,
  );
  return {
    name: "store",
    status,
    latency_ms: performance.now() - began,
    detail: description.store.split(":")[0] ?? "",
  };
}

/** Adds up runs, session by session. A run counts for the day on which it began. */
async function usageOf(
  { sessions }: Call,
  query: {
    group_by: "day" | "model" | "agent" | "session";
    from?: string | undefined;
    to?: string | undefined;
    agent_id?: string | undefined;
  },
): Promise<UsageRow[]> {
  const { group_by, from = "", to = "~", agent_id: agentId } = query;
  const rows = new Map<string, UsageRow>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await sessions.list({
      limit: 200,
      ...(agentId !== undefined && { agentId }),
      ...(cursor !== undefined && { cursor }),
    });
    for (const session of page.items) {
      if (session.total_runs === 0) continue;
      for (const run of await allRuns(sessions, session.id)) {
        if (run.started_at < from || run.started_at >= to) continue;
        const key = {
          day: run.started_at.slice(0, 10),
          model: run.cost?.model_id ?? session.model,
          agent: session.agent_id,
          session: session.id,
        }[group_by];
        add(rows, key, run);
      }
    }
    cursor = page.cursor;
  }
  return [...rows.values()].sort((a, b) => (a.key < b.key ? 1 : -1));
}

type RunRow = Awaited<ReturnType<Call["sessions"]["runs"]>>["items"][number];

async function allRuns(sessions: Call["sessions"], sessionId: string): Promise<readonly RunRow[]> {
  const runs: RunRow[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await sessions.runs(sessionId, { limit: 200, ...(cursor !== undefined && { cursor }) });
    runs.push(...page.items);
    cursor = page.cursor;
  }
  return runs;
}

function add(rows: Map<string, UsageRow>, key: string, { usage, cost_micros, unpriced_calls }: RunRow): void {
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
