import type { DataFile } from "../model/data-file.ts";
import type { ParsedLine } from "../scan/parse-line.ts";
import type { FileDamage } from "../model/types.ts";
import type { SourceName } from "../sources/port/source.ts";

interface OfFile {
  /** The coding agent that wrote the session. */
  readonly source: SourceName;
  readonly file: DataFile;
}

/**
 * A change of a transcript. Only complete lines are reported, in their order. If an agent other than Claude Code
 * changes one of the last lines of a session, the line is reported again with its `uuid`.
 */
export type WatchEvent =
  | (OfFile & { readonly type: "session" | "rewritten" | "removed" })
  | (OfFile & {
      readonly type: "lines";
      readonly lines: readonly ParsedLine[];
      readonly damage: readonly FileDamage[];
    });
