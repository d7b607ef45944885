import type { DataFile } from "../model/data-file.ts";
import type { ParsedLine } from "../scan/parse-line.ts";
import type { FileDamage } from "../model/types.ts";

/** What happened to a transcript. Lines come in their order, and only when they are whole. */
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
