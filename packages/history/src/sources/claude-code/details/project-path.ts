import type { SessionSummary } from "../../../model/types.ts";
import type { SessionDetails } from "./session-details.ts";

type ProjectDetails = Pick<SessionDetails, "relocatedCwd" | "worktreeOriginalCwd" | "cwds">;
type ProjectPath = Pick<SessionSummary, "projectPath" | "projectPathSource">;

/** The project that a session belongs to, from its lines. The folder name is not decoded, because it loses information. */
export function projectPathOf(details: ProjectDetails, encodedPath: string): ProjectPath {
  if (details.relocatedCwd !== null) return { projectPath: details.relocatedCwd, projectPathSource: "relocated" };
  if (details.worktreeOriginalCwd !== null) {
    return { projectPath: details.worktreeOriginalCwd, projectPathSource: "worktree" };
  }
  const [cwd] = details.cwds;
  if (cwd !== undefined) return { projectPath: cwd, projectPathSource: "cwd" };
  return { projectPath: encodedPath, projectPathSource: "folder" };
}
