/** A transcript in a data directory, main or subagent, as found: nothing of it has been read. */
export interface DataFile {
  readonly path: string;
  /** The data directory it was found in. */
  readonly root: string;
  /** The name of its project folder. It cannot be decoded into a path. */
  readonly encodedPath: string;
  readonly kind: "session" | "agent";
  readonly layout: "main" | "subagents" | "workflow" | "legacy";
  /** The session it belongs to; for agents of the old layout unknown until the file is read. */
  readonly sessionId: string | undefined;
  readonly agentId: string | undefined;
  readonly workflowId: string | undefined;
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
}

/** Something among the transcripts that is not read, and why. */
export interface SkippedFile {
  readonly path: string;
  readonly reason: "symlink" | "pipe" | "socket" | "device" | "leftover" | "unreadable";
}

/** A folder that was read, and when the system last changed it before. */
export interface SeenFolder {
  readonly path: string;
  readonly changedMs: number;
}

export interface Discovered {
  readonly roots: readonly string[];
  readonly files: readonly DataFile[];
  readonly skipped: readonly SkippedFile[];
  readonly folders: readonly SeenFolder[];
  /** When it was looked. */
  readonly atMs: number;
}
