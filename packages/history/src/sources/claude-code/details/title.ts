import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DataFile } from "../../../model/data-file.ts";
import { sourceOfRoot } from "../../mirror/source-of-root.ts";
import { createForeignSummaries } from "./foreign-summaries.ts";
import { createReadOnce } from "./read-once.ts";
import { summaryOfFile } from "./old-summaries.ts";
import type { SessionDetails } from "./session-details.ts";

/** Titles of sessions. What was read from a file for a title is remembered until that file changes. */
export interface Titles {
  /**
   * The title, by Claude Code's current rule: the user's title, the model's title, the summary of old versions, the last
   * prompt, the first prompt.
   */
  of(file: DataFile, details: SessionDetails): string | null;
}

/** Finds titles for one list, or for all lists of a long-running process. */
export function createTitles(): Titles {
  const foreign = createForeignSummaries();
  const own = createReadOnce<string | null>();
  return {
    of(file, details) {
      const { customTitle, aiTitle, lastPrompt, firstPrompt } = details;
      // Other agents keep no title in a separate file, and no summary in the file of another session.
      if (!hasClaudesLines(file)) return customTitle ?? aiTitle ?? lastPrompt ?? firstPrompt;
      const given = customTitle ?? titleBeside(file) ?? aiTitle ?? own(file, null, () => summaryOfFile(file, details));
      // Versions that write the last prompt do not write summaries.
      return given ?? lastPrompt ?? foreign.of(file) ?? firstPrompt;
    },
  };
}

/** Whether the lines were written by Claude Code, not translated from another agent. */
function hasClaudesLines({ root }: DataFile): boolean {
  const source = sourceOfRoot(root);
  return source === "claude-code" || source === "claude-desktop";
}

/** `/rename` also writes the title into a file in the session's folder. */
function titleBeside(file: DataFile): string | null {
  if (file.sessionId === undefined) return null;
  const path = join(file.path.slice(0, -".jsonl".length), "custom-title.json");
  // Few sessions have such a file. Checking whether the file exists is faster than an exception.
  if (!statSync(path, { throwIfNoEntry: false })) return null;
  try {
    const { customTitle } = JSON.parse(readFileSync(path, "utf8")) as { customTitle?: unknown };
    return typeof customTitle === "string" && customTitle !== "" ? customTitle : null;
  } catch {
    return null;
  }
}
