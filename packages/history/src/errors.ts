/** The session with this index or id does not exist. */
export class SessionNotFoundError extends Error {
  override readonly name = "SessionNotFoundError";
  readonly sessionId: string | number;
  /** `candidates` are lines about the sessions that may be meant. */
  constructor(sessionId: string | number, reason = "There is no such session", candidates: readonly string[] = []) {
    super([`${reason}: ${String(sessionId)}`, ...candidates].join("\n"));
    this.sessionId = sessionId;
  }
}

/** No session belongs to this workspace. */
export class WorkspaceNotFoundError extends Error {
  override readonly name = "WorkspaceNotFoundError";
  readonly workspace: string;
  constructor(workspace: string) {
    super(`No session belongs to the project ${workspace}`);
    this.workspace = workspace;
  }
}

/** There are no sessions at this path. */
export class DataNotFoundError extends Error {
  override readonly name = "DataNotFoundError";
  readonly dataPath: string;
  constructor(dataPath: string, what = "no Claude Code data directory") {
    super(`There is ${what} at ${dataPath}`);
    this.dataPath = dataPath;
  }
}

/** The archived session belongs to another agent than Claude Code. */
export class NotRestorableError extends Error {
  override readonly name = "NotRestorableError";
  constructor(sessionId: string, agent: string) {
    super(`${sessionId} is a session of ${agent}, and nothing is written into the folders of other agents`);
  }
}

/** The search text is not valid, for example a pattern with a back-reference. */
export class QueryError extends Error {
  override readonly name = "QueryError";
}

export const isSessionNotFoundError = (error: unknown): error is SessionNotFoundError =>
  hasName(error, "SessionNotFoundError");
export const isWorkspaceNotFoundError = (error: unknown): error is WorkspaceNotFoundError =>
  hasName(error, "WorkspaceNotFoundError");
export const isDataNotFoundError = (error: unknown): error is DataNotFoundError => hasName(error, "DataNotFoundError");
export const isNotRestorableError = (error: unknown): error is NotRestorableError =>
  hasName(error, "NotRestorableError");
export const isQueryError = (error: unknown): error is QueryError => hasName(error, "QueryError");

/** Compares names, because an error may come from a second copy of this package. */
function hasName(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}
