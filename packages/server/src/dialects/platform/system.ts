import { type UsageKey, zoneShifts } from "@skein/core";
import type { ParsedRequest, UsageRow } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import { type Handlers, type RawAnswer, TAKEN_OVER } from "../../request-context.ts";
import { sendFile } from "../../http/console.ts";
import { busHealth, engineHealth, filesHealth, queueHealth, storeHealth, wallsHealth } from "../../observe/health.ts";
import { METRICS_TYPE, metricsText } from "../../observe/metrics-text.ts";
import { openApi } from "../../http/openapi.ts";
import { OPERATOR } from "../../keys.ts";
import { HOME_SCRIPT, HOME_STYLE, PAGE_POLICY, docsPage, homePage } from "../../http/pages.ts";

const RETRY_SOON = { headers: { "retry-after": "1" } };

/** Health, metrics, usage and other information about the server. */
export const systemHandlers = {
  async health(_, call) {
    const { version } = call.shared.deps.description;
    const [store, ...others] = await Promise.all([
      storeHealth(call),
      busHealth(call),
      engineHealth(call),
      filesHealth(call),
      queueHealth(call),
      wallsHealth(call),
    ]);
    const dependencies = [store, ...others.flat()];
    const failing = dependencies.filter(({ status }) => status === "failed").map(({ name }) => name);
    const cannotServe = store.status === "failed";
    if (cannotServe) call.reply.code(503);
    const status = cannotServe ? ("unhealthy" as const) : failing.length > 0 ? ("degraded" as const) : ("ok" as const);
    return { status, version, failing, ...(call.principal.scopes.length > 0 && { dependencies }) };
  },
  async ready(_, call) {
    if (call.shared.stopping.aborted) throw new ApiError("closed", "The server is stopping.");
    const store = await storeHealth(call);
    if (store.status === "failed") throw new ApiError("store_unavailable", store.detail, RETRY_SOON);
    return { status: "ready" as const };
  },
  async home(_, { shared, request, reply }) {
    const { console: files } = shared.deps;
    if (files && (await sendFile(files, "index.html", { request, reply }))) return TAKEN_OVER;
    return html(homePage(shared.deps.description));
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
    return html(docsPage());
  },
  async metrics(_, { shared, principal }) {
    const payload = await metricsText(shared, { withRuns: principal.tenant === OPERATOR });
    return { raw: { type: METRICS_TYPE, payload } };
  },
  async usage({ query: { group_by, ...bounds } }, { sessions }) {
    const [by = "day", secondKey] = group_by.split(",") as UsageKey[];
    const rows = await sessions.usage({ by, secondKey, ...boundsOf(bounds) });
    return { data: rows.toSorted((a, b) => (orderOf(a) < orderOf(b) ? 1 : -1)) };
  },
  async toolUsage({ query }, { sessions }) {
    const rows = await sessions.toolUsage(boundsOf(query));
    return { data: rows.toSorted((a, b) => (`${a.day} ${a.tool}` < `${b.day} ${b.tool}` ? 1 : -1)) };
  },
} satisfies Partial<Handlers>;

/** The agent, session, period and time zone of a usage report. */
function boundsOf({ from, to, agent_id, session_id, time_zone }: ParsedRequest<"toolUsage">["query"]) {
  return {
    ...(time_zone !== undefined && { shifts: zoneShifts(time_zone) }),
    ...(session_id !== undefined && { sessionId: session_id }),
    ...(agent_id !== undefined && { agentId: agent_id }),
    ...(from !== undefined && { from: new Date(from).toISOString() }),
    ...(to !== undefined && { to: new Date(to).toISOString() }),
  };
}

function orderOf({ key, second_key }: UsageRow): string {
  return `${key} ${second_key ?? ""}`;
}

function html(payload: string): RawAnswer {
  return {
    raw: { type: "text/html; charset=utf-8", payload, headers: { "content-security-policy": PAGE_POLICY } },
  };
}
