import { readLines } from "../../../scan/read-lines.ts";
import { isKnownLineType } from "../format/known-line-types.ts";

/**
 * Reads records as `readLines` does. A file with records, but with no record of a known type, is reported as damage.
 * Such a file may belong to another coding agent, and would look like an empty session.
 */
export const readTranscriptRecords: typeof readLines = (path, on, options) => {
  let isForeign: boolean | undefined;
  readLines(
    path,
    {
      line(line) {
        isForeign = (isForeign ?? true) && !isOwn(line.value["type"]);
        on.line(line);
      },
      damage: on.damage,
    },
    options,
  );
  if (isForeign)
    on.damage({
      line: 1,
      kind: "unknown-format",
      message: "no record of Claude Code in the file: is it of another agent, or of a newer version?",
    });
};

/** A translated session also has records such as `codex:turn_context`. Its damage is found when it is translated. */
function isOwn(type: unknown): boolean {
  return typeof type === "string" && (isKnownLineType(type) || type.includes(":"));
}
