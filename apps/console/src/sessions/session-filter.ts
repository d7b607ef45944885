import type { SessionFilter, SessionSort } from "../api/api.ts";

/** The filters and the sort order that the URL contains. */
export interface Asked {
  readonly status: string | null;
  readonly model: string | null;
  readonly tag: string | null;
  readonly agent: string | null;
  readonly subagents: string | null;
  readonly sort: string | null;
  readonly source: string | null;
}

/** Converts the filters in the URL to the filter of a request. */
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

/**
 * Returns the coding agent whose history is requested, such as `codex`. Undefined if the URL names no source, or Skein.
 */
export function agentOf({ source }: Asked): string | undefined {
  return source === null || source === "skein" ? undefined : source;
}

/** Returns whether only sessions of Skein can match. Most filters do not apply to sessions of coding agents. */
export function isOnlySkein({ status, tag, agent, model, source }: Asked): boolean {
  return source === "skein" || status !== null || tag !== null || agent !== null || model !== null;
}

/** Converts the order in the URL to the order of a request. */
export function sortOf({ sort }: Asked): SessionSort {
  return SORTS[sort ?? ""] ?? "last_run";
}

const SORTS: Readonly<Record<string, SessionSort>> = { begun: "created", cost: "cost", title: "title" };

const STATES: Readonly<Record<string, SessionFilter>> = {
  active: { status: "running" },
  waiting: { activity: "awaiting" },
  running: { activity: "running" },
  done: { activity: "idle", outcome: "completed" },
  failed: { activity: "idle", outcome: "failed" },
  cancelled: { activity: "idle", outcome: "cancelled" },
  idle: { status: "pending" },
  unknown: { hasUnknownEffect: true },
};
