import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DataFile } from "../../../model/data-file.ts";
import { sourceOfRoot } from "../../mirror/source-of-root.ts";
import { createForeignSummaries } from "./foreign-summaries.ts";
import { createReadOnce } from "./read-once.ts";
import { summaryOfFile } from "./old-summaries.ts";
import type { SessionDetails } from "./session-details.ts";

/** Finds titles of sessions. A value from a file is kept until the file changes. */
export interface Titles {
  /**
   * Returns the title by Claude Code's current rule. The first of these texts that exists is the title: the user's
   * title, the model's title, the summary of old versions, the last prompt, the first prompt.
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
      // For other agents, all titles are in the session's lines.
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

/** Reads the title from the file that `/rename` writes into the session's folder. */
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
