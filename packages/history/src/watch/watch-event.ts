import type { DataFile } from "../model/data-file.ts";
import type { ParsedLine } from "../scan/parse-line.ts";
import type { FileDamage } from "../model/types.ts";

/** A change of a transcript. Lines come in order and only when they are complete. */
export type WatchEvent =
  | { readonly type: "session"; readonly file: DataFile }
  | {
      readonly type: "lines";
      readonly file: DataFile;
      readonly lines: readonly ParsedLine[];
      readonly damage: readonly FileDamage[];
    }
  | { readonly type: "rewritten"; readonly file: DataFile }
  | { readonly type: "removed"; readonly file: DataFile };
