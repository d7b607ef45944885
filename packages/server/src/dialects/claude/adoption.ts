import type { ChangedFile, ClaudeFile, Event, Session } from "@skein/protocol";

/** What the server needs of those who know Claude Code's files. */
export interface Adoption {
  /** Makes a session of these files. `folderFor` says in which folder a session of such a folder may work here. */
  adopt(
    files: readonly ClaudeFile[],
    to: { readonly tenant: string; readonly folderFor: (cwd: string, sessionId: string) => Promise<string | null> },
  ): Promise<Session>;
  /** The files of a session. Refuses one that has no transcript of Claude Code. */
  filesOf(sessionId: string, events: readonly Event[]): readonly ClaudeFile[];
  /** The files that Claude Code's tools have changed, and how; or how a rewind to a user message would change them. */
  changedFiles(events: readonly Event[], rewindTo?: string): readonly ChangedFile[];
}
