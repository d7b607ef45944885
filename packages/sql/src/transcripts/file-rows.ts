import { sourceOfRoot } from "@skein/history/discover";
import type { Rows } from "../database/load-rows.ts";
import { type Files, type KnownFile } from "./files.ts";

/** The columns of `skein.files`. */
export const FILE_COLUMNS = {
  file_id: "BIGINT",
  place: "BIGINT",
  file: "VARCHAR",
  root: "VARCHAR",
  folder: "VARCHAR",
  kind: "VARCHAR",
  layout: "VARCHAR",
  session_id: "VARCHAR",
  agent_id: "VARCHAR",
  workflow_id: "VARCHAR",
  project_path: "VARCHAR",
  size_bytes: "BIGINT",
  modified_at: "TIMESTAMP",
  first_row: "BIGINT",
  first_line: "BIGINT",
  source: "VARCHAR",
};

/**
 * Returns the rows of `skein.files`. `first_row` counts only rows of scanned files at the wanted places, or of all if
 * `wanted` is null.
 */
export function fileRows({ known }: Files, wanted: ReadonlySet<number> | null): Rows {
  const projects = sessionProjects(known);
  let place = 0;
  let firstRow = 0;
  let firstLine = 0;
  return known.map(({ file, head, count, copied }, at) => {
    const sessionId = file.sessionId ?? head.sessionId;
    const row = {
      file_id: at,
      place: copied?.place ?? place,
      file: file.path,
      root: file.root,
      folder: file.encodedPath,
      kind: file.kind,
      layout: file.layout,
      session_id: sessionId,
      agent_id: file.agentId ?? null,
      workflow_id: file.workflowId ?? null,
      project_path: projects.get(`${file.root}\0${file.encodedPath}\0${sessionId}`) ?? head.cwd ?? file.encodedPath,
      size_bytes: file.size,
      modified_at: new Date(file.mtimeMs),
      first_row: firstRow,
      first_line: firstLine,
      source: sourceOfRoot(file.root),
    };
    firstLine += count?.rows ?? 0;
    if (!copied) {
      if (wanted?.has(place) !== false) firstRow += count?.rows ?? 0;
      place += 1;
    }
    return row;
  });
}

/** Returns the working directory of each session. It is also the project of the session's subagents. */
function sessionProjects(known: readonly KnownFile[]): ReadonlyMap<string, string> {
  const projects = new Map<string, string>();
  for (const { file, head } of known)
    if (file.kind === "session" && head.cwd !== null && file.sessionId !== undefined)
      projects.set(`${file.root}\0${file.encodedPath}\0${file.sessionId}`, head.cwd);
  return projects;
}
