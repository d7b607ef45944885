import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DataFile } from "../../../model/data-file.ts";
import { createForeignSummaries } from "./foreign-summaries.ts";
import { summaryOfFile } from "./old-summaries.ts";
import type { SessionDetails } from "./session-details.ts";

/**
 * The title, by Claude Code's rule of today: the user's title, the model's title, the summary of old versions, the last
 * prompt, the first prompt. `foreign` is shared by the sessions of one list.
 */
export function titleOf(file: DataFile, details: SessionDetails, foreign = createForeignSummaries()): string | null {
  const given = details.customTitle ?? titleBeside(file) ?? details.aiTitle ?? summaryOfFile(file, details);
  // Versions that write the last prompt no longer write summaries.
  return given ?? details.lastPrompt ?? foreign.of(file) ?? details.firstPrompt;
}

/** `/rename` also writes the title into a file in the session's folder. */
function titleBeside(file: DataFile): string | null {
  if (file.sessionId === undefined) return null;
  try {
    const path = join(file.path.slice(0, -".jsonl".length), "custom-title.json");
    const { customTitle } = JSON.parse(readFileSync(path, "utf8")) as { customTitle?: unknown };
    return typeof customTitle === "string" && customTitle !== "" ? customTitle : null;
  } catch {
    return null;
  }
}
