import type { ChangedFile, ClaudeFile, Event, Session } from "@skein/protocol";

/** Converts between sessions and Claude Code's files. */
export interface Adoption {
  /**
   * Makes a session of these files. `folderFor` maps the session's original folder to the folder that it may use here.
   */
  adopt(
    files: readonly ClaudeFile[],
    to: { readonly tenant: string; readonly folderFor: (cwd: string, sessionId: string) => Promise<string | null> },
  ): Promise<Session>;
  /** The files of a session. Throws for a session without a transcript of Claude Code. */
  filesOf(sessionId: string, events: readonly Event[]): readonly ClaudeFile[];
  /**
   * The files that Claude Code's tools have changed, and how they changed. With `rewindTo`: how a rewind to this user
   * message would change them.
   */
  changedFiles(events: readonly Event[], rewindTo?: string): readonly ChangedFile[];
  /** A session of any runtime as a page that can be sent to somebody, or as Markdown. */
  pageOf(session: Session, events: readonly Event[], format: "html" | "markdown"): Promise<string>;
}
