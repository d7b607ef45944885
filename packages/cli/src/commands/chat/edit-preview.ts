import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Await } from "@skein/protocol";
import { z } from "zod";
import type { TextPaint } from "../../terminal/styled.ts";
import { visibleLine } from "../../terminal/visible-text.ts";
import { cut } from "../../terminal/width.ts";

const Edit = z.object({ file_path: z.string(), old_string: z.string(), new_string: z.string() });
const Write = z.object({ file_path: z.string(), content: z.string() });

/** The number of unchanged lines that are shown before and after a change, and the most lines of a preview. */
const AROUND = 2;
const MOST = 60;

/** Returns a preview of an edit for the person who approves it. Empty for calls that edit no file. */
export function editPreview(
  { name, input }: Pick<Await, "name" | "input">,
  { folder, paint, columns }: { readonly folder: string; readonly paint: TextPaint; readonly columns: number },
): string {
  const edit = Edit.safeParse(input).data;
  const write = name === "Write" ? Write.safeParse(input).data : undefined;
  const path = (edit ?? write)?.file_path;
  if (path === undefined) return "";
  const [before, after] = edit
    ? [edit.old_string, edit.new_string]
    : [contentOf(resolve(folder, path)), write?.content ?? ""];
  const lines = difference(before.split("\n"), after.split("\n"));
  const colours = { "-": paint.red, "+": paint.green, " ": paint.dim } as const;
  const shown = lines.slice(0, MOST).map(([mark, text]) => colours[mark](cut(`${mark} ${visibleLine(text)}`, columns)));
  if (lines.length > MOST) shown.push(paint.dim(`  … and ${lines.length - MOST} more lines`));
  return `${[paint.bold(visibleLine(path)), ...shown].join("\n")}\n`;
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The file does not exist yet, or cannot be read.
    return "";
  }
}

type Line = readonly [mark: "-" | "+" | " ", text: string];

/** Returns the lines that differ, with a few equal lines before and after. */
export function difference(before: readonly string[], after: readonly string[]): readonly Line[] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (lines: readonly string[]): readonly Line[] => lines.map((text) => [" ", text]);
  return [
    ...same(before.slice(Math.max(0, start - AROUND), start)),
    ...before.slice(start, before.length - end).map((text): Line => ["-", text]),
    ...after.slice(start, after.length - end).map((text): Line => ["+", text]),
    ...same(before.slice(before.length - end, before.length - end + AROUND)),
  ].filter(([mark, text]) => mark === " " || text !== "" || before.length + after.length > 2);
}
