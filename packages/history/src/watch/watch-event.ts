import type { DataFile } from "../model/data-file.ts";
import type { ParsedLine } from "../scan/parse-line.ts";
import type { FileDamage } from "../model/types.ts";
import type { SourceName } from "../sources/port/source.ts";

interface OfFile {
  /** The agent whose session it is. */
  readonly source: SourceName;
  readonly file: DataFile;
}

/**
 * A change of a transcript. Lines come in order and only when they are complete. Another agent may change the last lines of a
 * session, for example when an answer gets its tokens: such a line comes again, with the same `uuid`.
 */
export type WatchEvent =
  | (OfFile & { readonly type: "session" | "rewritten" | "removed" })
  | (OfFile & {
      readonly type: "lines";
      readonly lines: readonly ParsedLine[];
      readonly damage: readonly FileDamage[];
    });
