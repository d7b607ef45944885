import type { SessionSummary } from "../../../model/types.ts";
import type { SessionDetails } from "./session-details.ts";

type ProjectDetails = Pick<SessionDetails, "relocatedCwd" | "worktreeOriginalCwd" | "cwds">;
type ProjectPath = Pick<SessionSummary, "projectPath" | "projectPathSource">;

/** Finds the project of a session in its lines. The folder name is not decoded, because it has lost information. */
export function projectPathOf(details: ProjectDetails, encodedPath: string): ProjectPath {
  if (details.relocatedCwd !== null) return { projectPath: details.relocatedCwd, projectPathSource: "relocated" };
  if (details.worktreeOriginalCwd !== null) {
    return { projectPath: details.worktreeOriginalCwd, projectPathSource: "worktree" };
  }
  const [cwd] = details.cwds;
  if (cwd !== undefined) return { projectPath: cwd, projectPathSource: "cwd" };
  return { projectPath: encodedPath, projectPathSource: "folder" };
}
