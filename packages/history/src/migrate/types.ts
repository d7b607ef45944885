/** The parameters and results of a migration. */

export interface MigrateConfig {
  /** Sessions by index, id or the beginning of an id. */
  readonly sessions: number | string | readonly (number | string)[];
  /** The project path that the sessions will belong to. */
  readonly destination: string;
  /** `copy` if not given. */
  readonly mode?: MigrateMode;
}

export interface MigrateWorkspaceConfig {
  /** The project path whose sessions are migrated. */
  readonly source: string;
  readonly destination: string;
  readonly mode?: MigrateMode;
}

export type MigrateMode = "copy" | "move";

export interface MigrateOptions {
  /** The data directory to write to. Default: the directory of each session. */
  readonly destinationRoot?: string;
  /** The folder of the journals. Default: `.skein/migrations` in the home directory. */
  readonly journalFolder?: string;
  /** Report what would be done and write nothing. */
  readonly dryRun?: boolean;
  readonly onProgress?: (done: number, total: number) => void;
}

export type MigrateErrorCode =
  | "live"
  | "changed"
  | "exists"
  | "same-place"
  | "inside-source"
  | "not-a-folder"
  | "unknown-session"
  | "no-space"
  | "io"
  | "busy"
  | "unknown-migration";

export interface MigrateError {
  readonly sessionId: string;
  readonly code: MigrateErrorCode;
  readonly message: string;
}

export interface MigratedSession {
  readonly sessionId: string;
  readonly from: string;
  readonly to: string;
  readonly files: number;
  readonly bytes: number;
  /** How many paths were rewritten. */
  readonly rewrittenPaths: number;
}

/** Where a session came from and where it is now. */
export interface SessionMove {
  readonly sessionId: string;
  readonly root: string;
  readonly destinationRoot: string;
  readonly source: string;
  readonly destination: string;
}

export interface MigrateResult {
  readonly successCount: number;
  readonly failedCount: number;
  readonly errors: readonly MigrateError[];
  readonly sessions: readonly MigratedSession[];
  /** The id for `undoMigration`; null for a dry run and if nothing was done. */
  readonly migrationId: string | null;
  /** Notes for the user: what was left unchanged, and why. */
  readonly notes: readonly string[];
  /** How many sessions of an earlier, interrupted migration were finished by this call. */
  readonly finishedBefore: number;
}

/** A migration that cannot begin, or a session that cannot be migrated. */
export class MigrateRefusedError extends Error {
  override readonly name = "MigrateRefusedError";
  readonly code: MigrateErrorCode;
  constructor(code: MigrateErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export const isMigrateRefusedError = (error: unknown): error is MigrateRefusedError =>
  error instanceof Error && error.name === "MigrateRefusedError";
