/** A transcript in a data directory, of a session or of a subagent. Its content has not been read. */
export interface DataFile {
  readonly path: string;
  /** The data directory it was found in. */
  readonly root: string;
  /** The name of its project folder. It cannot be decoded into a path. */
  readonly encodedPath: string;
  readonly kind: "session" | "agent";
  readonly layout: "main" | "subagents" | "workflow" | "legacy";
  /** The session of the file. For subagents of the old layout, it is undefined until the file is read. */
  readonly sessionId: string | undefined;
  readonly agentId: string | undefined;
  readonly workflowId: string | undefined;
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
  /** Set for a session of an agent other than Claude Code, if the configuration comes from `withSources`. */
  readonly origin?: Origin;
}

/**
 * Data about a session of an agent other than Claude Code, known before the lines of the session are translated into
 * Claude Code's format.
 */
interface Origin {
  /** A fingerprint that changes whenever the session changes. */
  readonly stamp: string;
  /** The approximate time of its last activity. */
  readonly lastMs: number;
  readonly cwd: string | null;
  /** Whether the translated lines exist and are up to date. */
  readonly hasLines: boolean;
}

/** A file among the transcripts that is not read, and why. */
export interface SkippedFile {
  readonly path: string;
  readonly reason: "symlink" | "pipe" | "socket" | "device" | "leftover" | "unreadable";
  readonly message?: string;
}

/** A folder that was read, with its change time (ctime) at the time of reading. */
export interface SeenFolder {
  readonly path: string;
  readonly changedMs: number;
}

export interface Discovered {
  readonly roots: readonly string[];
  readonly files: readonly DataFile[];
  readonly skipped: readonly SkippedFile[];
  readonly folders: readonly SeenFolder[];
  /** When discovery began. */
  readonly atMs: number;
}
