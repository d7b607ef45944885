import type { SessionSummary } from "../../../model/types.ts";
import type { SessionFacts } from "./session-facts.ts";

type ProjectFacts = Pick<SessionFacts, "relocatedCwd" | "worktreeOriginalCwd" | "cwds">;
type ProjectPath = Pick<SessionSummary, "projectPath" | "projectPathSource">;

/** The project that a session belongs to, from its lines. The folder name is not decoded, because it loses information. */
export function projectPathOf(facts: ProjectFacts, encodedPath: string): ProjectPath {
  if (facts.relocatedCwd !== null) return { projectPath: facts.relocatedCwd, projectPathSource: "relocated" };
  if (facts.worktreeOriginalCwd !== null) {
    return { projectPath: facts.worktreeOriginalCwd, projectPathSource: "worktree" };
  }
  const [cwd] = facts.cwds;
  if (cwd !== undefined) return { projectPath: cwd, projectPathSource: "cwd" };
  return { projectPath: encodedPath, projectPathSource: "folder" };
}
