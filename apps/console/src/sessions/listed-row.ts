import type { HistorySession, ListedSession, SessionMatch } from "../api/api.ts";
import { historyHref } from "../api/history-key.ts";
import { money, costWords, shortModel } from "../ui/amounts.ts";
import { lengthOf, shortId, stateOf } from "../ui/session-state.ts";
import type { State } from "../ui/state.ts";

/** A session of any source as one row of the list. */
export interface ListedRow {
  /** Different for each session. A session of Skein and sessions of coding agents may have the same id. */
  readonly key: string;
  /** The display name of its source. */
  readonly source: string;
  readonly href: string;
  readonly title: string;
  /** Null for a session of a coding agent, because its state is unknown. */
  readonly state: State | null;
  /** The text in the place column: the name of Skein's agent, or the project of a coding agent's session. */
  readonly place: string;
  readonly model: string;
  /** The number of runs; null for a session of a coding agent. */
  readonly count: number | null;
  readonly lengthMs: number;
  /** The cost as text; empty while it is not known. */
  readonly cost: string;
  /** When the session was last active. */
  readonly at: string;
  readonly isFork: boolean;
  /** Whether the effect of some tool call is unknown. */
  readonly hasUnknownEffect: boolean;
  readonly tags: readonly string[];
}

export interface RowNames {
  readonly title: string;
  readonly agent: string;
}

export function rowOfSession(session: ListedSession, { title, agent }: RowNames, now: number): ListedRow {
  return {
    key: session.id,
    source: sourceName("skein"),
    href: `/sessions/${session.id}`,
    title,
    state: stateOf(session),
    place: agent,
    model: session.model,
    count: session.total_runs,
    lengthMs: lengthOf(session, now),
    cost: money(session.cost_micros),
    at: session.last_run_at ?? session.created_at,
    isFork: session.parent_session_id !== null,
    hasUnknownEffect: session.has_unknown_effect,
    tags: session.tags,
  };
}

/** Returns the row with a link to the place where the search words were found. */
export function rowOfMatch(match: SessionMatch, row: ListedRow): ListedRow {
  return { ...row, href: `${row.href}?at=${match.sequence}` };
}

export function rowOfHistory(session: HistorySession): ListedRow {
  return {
    key: `${session.source} ${session.id}`,
    source: sourceName(session.source),
    href: historyHref(session),
    title: session.title ?? `A session without a prompt, ${shortId(session.id)}`,
    state: null,
    place: shortPath(session.project_path),
    model: session.usage?.models.map(shortModel).join(", ") ?? "",
    count: null,
    lengthMs: Math.max(0, Date.parse(session.last_activity_at) - Date.parse(session.created_at)),
    cost: session.usage ? costWords(session.cost_micros ?? 0, session.usage.unpriced_calls) : "",
    at: session.last_activity_at,
    isFork: false,
    hasUnknownEffect: false,
    tags: [],
  };
}

/** Returns the last two folders of a path, or the whole path if it has at most two folders. */
export function shortPath(path: string): string {
  const folders = path.split("/").filter((folder) => folder !== "");
  return folders.length <= 2 ? path : folders.slice(-2).join("/");
}

/** The display names of the sources. */
const SOURCES: Readonly<Record<string, string>> = {
  skein: "Skein",
  "claude-code": "Claude Code",
  "claude-desktop": "Claude Desktop",
  codex: "Codex",
  opencode: "opencode",
  pi: "pi",
  gemini: "Gemini CLI",
  copilot: "Copilot CLI",
  cursor: "Cursor",
  amp: "Amp",
  droid: "Droid",
  goose: "Goose",
  grok: "Grok",
  kimi: "Kimi",
  qwen: "Qwen Code",
};

export function sourceName(source: string): string {
  return SOURCES[source] ?? source;
}
