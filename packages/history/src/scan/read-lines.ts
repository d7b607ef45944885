import { forEachLine, type Region } from "./line-splitter.ts";
import { parseLine, type Damage, type ParsedLine } from "./parse-line.ts";
import { NotAFileError, readFile } from "./read-file.ts";

export interface ReadLinesOptions {
  readonly from?: number;
  /** The number of the line at `from`. */
  readonly firstLine?: number;
  readonly until?: number;
  readonly maxLineBytes?: number;
}

/** Calls `on.line` for every record, and `on.damage` for all damage. Lines after a damaged line are still read. */
export function readLines(
  path: string,
  on: { readonly line: (line: ParsedLine) => void; readonly damage: (damage: Damage) => void },
  options: ReadLinesOptions = {},
): void {
  let number = (options.firstLine ?? 1) - 1;
  const onRegion = (region: Region): void => {
    if (region.tooLong) {
      number += 1;
      on.damage({ line: number, kind: "too-long", message: "the line is longer than the limit" });
      return;
    }
    forEachLine(region, (start, end) => {
      number += 1;
      const place = {
        line: number,
        offset: region.offset + (start - region.start),
        unterminated: region.unterminated && end === region.end,
      };
      for (const line of parseLine(region.bytes.subarray(start, end), place, on.damage)) on.line(line);
    });
  };
  try {
    readFile(path, options, onRegion);
  } catch (error) {
    on.damage({ line: number + 1, kind: "unreadable", message: reasonOf(error) });
  }
}

/** Describes an error without the path, because the path is a separate field. */
function reasonOf(error: unknown): string {
  if (error instanceof NotAFileError) return "not a plain file";
  return error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
}
