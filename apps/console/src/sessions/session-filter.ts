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

/** The coding agent whose history is requested, such as `codex`; undefined for all of them. */
export function agentOf({ source }: Asked): string | undefined {
  return source === null || source === "skein" ? undefined : source;
}

/** Whether only sessions of Skein can match, because the filters do not apply to other sources. */
export function isOnlySkein({ status, tag, agent, model, source }: Asked): boolean {
  return source === "skein" || status !== null || tag !== null || agent !== null || model !== null;
}

/** Converts the order in the URL to the order of a request. */
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
