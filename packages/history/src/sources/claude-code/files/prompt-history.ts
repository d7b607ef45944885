import { existsSync } from "node:fs";
import { join } from "node:path";
import { pageOf, type LibraryConfig } from "../../../config.ts";
import { existingRoots } from "../../discover.ts";
import type { HistoryEntry } from "../format/other-files.ts";
import { isSamePath } from "../../../model/same-path.ts";
import { paginate } from "../../../model/paginate.ts";
import type { FileDamage, PaginatedResult } from "../../../model/types.ts";
import { readLines } from "../../../scan/read-lines.ts";

interface PromptHistoryItem {
  readonly display: string;
  readonly pastedContents: Readonly<Record<string, unknown>>;
  readonly timestamp: Date;
  readonly project: string | null;
  readonly sessionId: string | null;
  readonly path: string;
  readonly line: number;
}

export interface PromptHistory extends PaginatedResult<PromptHistoryItem> {
  readonly damage: readonly FileDamage[];
}

/** Reads the prompts of all projects, newest first. Claude Code does not delete these prompts with the transcripts. */
export async function readHistory(config: LibraryConfig = {}): Promise<PromptHistory> {
  const schemas = await import("../format/other-files.ts");
  const page = pageOf(config);
  const items: PromptHistoryItem[] = [];
  const damage: FileDamage[] = [];
  for (const root of existingRoots(config)) {
    const path = join(root, "history.jsonl");
    if (!existsSync(path)) continue;
    readLines(path, {
      line: ({ value, line }) => {
        const { data } = schemas.HistoryEntry.safeParse(value);
        if (data) items.push(itemOf(data, path, line));
        else
          damage.push({ path, line, kind: "not-an-entry", message: "the line is not an entry of the prompt history" });
      },
      damage: (found) => damage.push({ path, ...found }),
    });
  }
  const { workspace, since, until } = config;
  const wanted = items.filter(
    ({ project, timestamp }) =>
      (workspace === undefined || (project !== null && isSamePath(project, workspace))) &&
      (since === undefined || timestamp >= since) &&
      (until === undefined || timestamp < until),
  );
  wanted.sort((a, b) => Number(b.timestamp) - Number(a.timestamp));
  return { ...paginate(wanted, page), damage };
}

function itemOf(entry: HistoryEntry, path: string, line: number): PromptHistoryItem {
  return {
    display: entry.display,
    pastedContents: entry.pastedContents ?? {},
    timestamp: new Date(entry.timestamp),
    project: entry.project ?? null,
    sessionId: entry.sessionId ?? null,
    path,
    line,
  };
}
