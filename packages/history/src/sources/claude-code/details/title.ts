import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DataFile } from "../../../model/data-file.ts";
import { summaryOfFile } from "./old-summaries.ts";
import type { SessionDetails } from "./session-details.ts";

/**
 * The title, by Claude Code's rule of today: the user's title, the model's title, the summary of old versions, the last
 * prompt, the first prompt.
 */
export function titleOf(file: DataFile, details: SessionDetails): string | null {
  const given = details.customTitle ?? titleBeside(file) ?? details.aiTitle;
  return given ?? summaryOfFile(file, details) ?? details.lastPrompt ?? details.firstPrompt;
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
