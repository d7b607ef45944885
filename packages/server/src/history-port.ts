import type {
  HistoryMessageQuery,
  HistoryQuery,
  HistorySearchQuery,
  HistoryUsageQuery,
  Session,
} from "@skein/protocol";
import type { z } from "zod";

/** A change of one of Claude Code's sessions. */
export interface HistoryChange {
  readonly session_id: string;
  readonly change: "created" | "appended" | "rewritten" | "removed";
}

/** Where a session is made from one of Claude Code's. */
export interface AdoptTo {
  readonly tenant: string;
  /** In which folder a session of such a folder may work here. */
  readonly folderFor: (cwd: string, sessionId: string) => Promise<string | null>;
}

/**
 * Reads the sessions of other agents where they are. Texts are JSON as the route answers it: they are made beside the
 * server's own thread, and sent as they are. Refuses with a known error.
 */
export interface HistoryPort {
  /** Names of keys that may read it besides those of admins. */
  readonly keys: readonly string[];
  list(query: z.output<typeof HistoryQuery>, signal: AbortSignal): Promise<string>;
  get(sessionId: string, signal: AbortSignal): Promise<string>;
  messages(sessionId: string, query: z.output<typeof HistoryMessageQuery>, signal: AbortSignal): Promise<string>;
  line(
    sessionId: string,
    place: { readonly offset: number; readonly agent_id?: string | undefined },
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  search(query: z.output<typeof HistorySearchQuery>, signal: AbortSignal): Promise<string>;
  usage(query: z.output<typeof HistoryUsageQuery>, signal: AbortSignal): Promise<string>;
  files(sessionId: string, signal: AbortSignal): Promise<string>;
  file(
    sessionId: string,
    version: { readonly path: string; readonly version: number },
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  export(sessionId: string, format: "html" | "markdown" | "json", signal: AbortSignal): Promise<Uint8Array>;
  adopt(sessionId: string, to: AdoptTo): Promise<Session>;
  /** Told of changes until it is ended. */
  watch(listener: (change: HistoryChange) => void): () => void;
}
