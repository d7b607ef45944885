import type { ChangedFile, ClaudeFile, Event, Session } from "@skein/protocol";

/** Converts between sessions and Claude Code's files. */
export interface Adoption {
  /**
   * Makes a session from Claude Code's files. `folderFor` maps the session's folder to a folder that it may use on this
   * server.
   */
  adopt(
    files: readonly ClaudeFile[],
    to: { readonly tenant: string; readonly folderFor: (cwd: string, sessionId: string) => Promise<string | null> },
  ): Promise<Session>;
  /** The files of a session. Throws for a session without a transcript of Claude Code. */
  filesOf(sessionId: string, events: readonly Event[]): readonly ClaudeFile[];
  /**
   * Returns how Claude Code's tools changed files. With `rewindTo`, returns how a rewind to this user message would
   * change files.
   */
  changedFiles(events: readonly Event[], rewindTo?: string): readonly ChangedFile[];
  /** Returns a session of any runtime as an HTML page or as Markdown. */
  pageOf(session: Session, events: readonly Event[], format: "html" | "markdown"): Promise<string>;
}
