import type { SessionFilter, SessionSort } from "../api/api.ts";

/** The filters and the order in the URL. */
export interface Asked {
  readonly status: string | null;
  readonly model: string | null;
  readonly tag: string | null;
  readonly agent: string | null;
  readonly subagents: string | null;
  readonly sort: string | null;
  readonly source: string | null;
}

/** The server's filter for the filters in the URL. */
export function filterOf({ status, model, tag, agent, subagents }: Asked, title: string): SessionFilter {
  return {
    ...STATES[status ?? ""],
    ...(model !== null && { model }),
    ...(tag !== null && { tag }),
    ...(agent !== null && { agentId: agent }),
    ...(title !== "" && { title }),
    ...(subagents !== "1" && { isTopLevel: true }),
  };
}

/** The agent whose own sessions are requested; undefined for all agents. */
export function agentOf({ source }: Asked): string | undefined {
  return source === null || source === "skein" ? undefined : source;
}

/** Whether only sessions of Skein can match: no other source has agents, tags or states. */
export function isOnlySkein({ status, tag, agent, model, source }: Asked): boolean {
  return source === "skein" || status !== null || tag !== null || agent !== null || model !== null;
}

/** The server's order for the order in the URL. */
export function sortOf({ sort }: Asked): SessionSort {
  return SORTS[sort ?? ""] ?? "last_run";
}

const SORTS: Readonly<Record<string, SessionSort>> = { begun: "created", cost: "cost", title: "title" };

const STATES: Readonly<Record<string, SessionFilter>> = {
  waiting: { activity: "awaiting" },
  running: { activity: "running" },
  done: { activity: "idle", outcome: "completed" },
  failed: { activity: "idle", outcome: "failed" },
  cancelled: { activity: "idle", outcome: "cancelled" },
  idle: { status: "pending" },
  unknown: { hasUnknownEffect: true },
};
