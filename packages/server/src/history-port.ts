import type {
  HistoryMessageQuery,
  HistoryQuery,
  HistorySearchQuery,
  HistoryUsageQuery,
  Session,
} from "@skein/protocol";
import type { z } from "zod";

/** A change of a session in Claude Code's files. */
export interface HistoryChange {
  readonly session_id: string;
  readonly change: "created" | "appended" | "rewritten" | "removed";
}

/**
 * A session by its id. If several coding agents have a session with this id, `source` names the agent; undefined means
 * the session that was active last.
 */
export interface HistoryName {
  readonly id: string;
  readonly source: string | undefined;
}

/** Where an adopted session (made from a coding agent's files) is stored, and in which folder it works. */
export interface AdoptTo {
  readonly tenant: string;
  /** Returns the folder on this server for a session that worked in `cwd`, or null for no folder. */
  readonly folderFor: (cwd: string, sessionId: string) => Promise<string | null>;
}

/**
 * Reads the sessions of coding agents from their files. A returned text is the JSON of the response. Another thread
 * makes the JSON, and the server sends it unchanged. Failures are thrown as `KnownError`. Decision 150 in docs/decisions
 * has the reasons.
 */
export interface HistoryPort {
  /** Names of API keys that may read the history, besides admin keys. */
  readonly keys: readonly string[];
  /** The folders with history that the operator configured; empty for the default folders of the server's user. */
  readonly roots: readonly string[];
  list(query: z.output<typeof HistoryQuery>, signal: AbortSignal): Promise<string>;
  get(session: HistoryName, signal: AbortSignal): Promise<string>;
  messages(session: HistoryName, query: z.output<typeof HistoryMessageQuery>, signal: AbortSignal): Promise<string>;
  line(
    session: HistoryName,
    place: { readonly offset: number; readonly agent_id?: string | undefined },
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  search(query: z.output<typeof HistorySearchQuery>, signal: AbortSignal): Promise<string>;
  usage(query: z.output<typeof HistoryUsageQuery>, signal: AbortSignal): Promise<string>;
  files(session: HistoryName, signal: AbortSignal): Promise<string>;
  file(
    session: HistoryName,
    version: { readonly path: string; readonly version: number },
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  export(session: HistoryName, format: "html" | "markdown" | "json", signal: AbortSignal): Promise<Uint8Array>;
  adopt(session: HistoryName, to: AdoptTo): Promise<Session>;
  /** Calls the listener for each change. Returns a function that ends the watch. */
  watch(listener: (change: HistoryChange) => void): () => void;
}
