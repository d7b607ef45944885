import { join } from "node:path";
import { stat } from "node:fs/promises";
import { type Tool, defineTool } from "@skein/core";
import { RE2JS } from "re2js";
import { z } from "zod";
import type { ConfinedFolder } from "./confined-folder.ts";
import { globTest } from "./glob-pattern.ts";
import { TOO_MANY_FILES, type WalkOptions, walkFolder } from "./walk-folder.ts";

const FILE_BYTES = 8 * 1024 * 1024;
const LINE_LENGTH = 500;
const MOST = 500;
/** A search ends with what it has after this time. */
const SEARCH_MS = 20_000;
/** Files that are read at once: waiting for one after the other takes longer than reading them. */
const AT_ONCE = 32;

const Input = z.object({
  pattern: z.string().min(1).describe("A regular expression (RE2: no look-around, no back-references)."),
  path: z.string().optional().describe("The file or folder to search; the working folder unless told."),
  glob: z.string().optional().describe("Only files whose path fits, such as *.ts or src/**."),
  output_mode: z
    .enum(["content", "files_with_matches", "count"])
    .optional()
    .describe("Files with matches unless told."),
  "-i": z.boolean().optional().describe("Ignore case."),
  "-n": z.boolean().optional().describe("Show line numbers (content)."),
  "-A": z.number().int().min(0).max(100).optional().describe("Lines after each match (content)."),
  "-B": z.number().int().min(0).max(100).optional().describe("Lines before each match (content)."),
  "-C": z.number().int().min(0).max(100).optional().describe("Lines around each match (content)."),
  head_limit: z.number().int().positive().optional().describe("How many lines or files to return."),
});

/** Searches the files of a folder, with an engine whose time grows with the text and nothing else. */
export function createGrep(folder: ConfinedFolder, now: () => number = Date.now): Tool {
  return defineTool({
    name: "Grep",
    description: "Searches the text of files in the working folder with a regular expression.",
    input: Input,
    policy: "repeatable",
    run: async (input, { signal }) => {
      const matches = lineTest(input.pattern, input["-i"] ?? false);
      const limit = Math.min(input.head_limit ?? MOST, MOST);
      const deadline = now() + SEARCH_MS;
      const shown: string[] = [];
      let note = "";
      const walked = { cut: false };
      for await (const files of inGroups(filesOf(folder, input, { signal, walked }), AT_ONCE)) {
        const found = files.map(async (file) => {
          const lines = await linesOf(folder, file);
          return lines ? hits(file, lines, matches, input) : [];
        });
        shown.push(...(await Promise.all(found)).flat());
        if (shown.length > limit) {
          note = `\n[More than ${limit} are found; these are the first.]`;
          break;
        }
        if (now() > deadline) {
          note = `\n[The search was ended after ${SEARCH_MS / 1000} s; not every file was read.]`;
          break;
        }
      }
      if (note === "" && walked.cut) note = `\n${TOO_MANY_FILES}`;
      return shown.length === 0 ? `Nothing is found.${note}` : shown.slice(0, limit).join("\n") + note;
    },
  });
}

function lineTest(pattern: string, ignoreCase: boolean): (line: string) => boolean {
  // Plain words need no engine, which is slow for one.
  if (!ignoreCase && !/[\\^$.|?*+()[\]{}]/.test(pattern)) return (line) => line.includes(pattern);
  try {
    const compiled = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return (line) => compiled.matcher(line).find();
  } catch (error) {
    throw new Error(`The pattern is no regular expression of RE2: ${(error as Error).message}`, { cause: error });
  }
}

async function* filesOf(
  folder: ConfinedFolder,
  { path = ".", glob }: z.output<typeof Input>,
  { signal, walked }: Pick<WalkOptions, "signal" | "walked">,
): AsyncGenerator<string> {
  const place = await folder.placeOf(path);
  if ((await stat(place)).isFile()) {
    yield await folder.shown(place);
    return;
  }
  // A pattern without a folder fits names at any depth, as in ripgrep.
  const fits = glob === undefined ? undefined : globTest(glob.includes("/") ? glob : `**/${glob}`);
  for await (const file of walkFolder(place, { everywhere: /\.git|node_modules/.test(glob ?? path), signal, walked }))
    if (!fits || fits(file)) yield await folder.shown(join(place, file));
}

async function* inGroups<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<readonly Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  yield group;
}

/** The lines of a text file; nothing for one that is binary, too large, or gone. */
async function linesOf(folder: ConfinedFolder, path: string): Promise<readonly string[] | undefined> {
  const file = await folder.openFile(path).catch(() => undefined);
  if (!file) return undefined;
  try {
    if ((await file.stat()).size > FILE_BYTES) return undefined;
    const text = await file.readFile("utf8");
    if (text.slice(0, 8192).includes("\0")) return undefined;
    const lines = text.split(/\r?\n/);
    if (lines.at(-1) === "") lines.pop();
    return lines;
  } finally {
    await file.close();
  }
}

function hits(
  file: string,
  lines: readonly string[],
  matches: (line: string) => boolean,
  input: z.output<typeof Input>,
): readonly string[] {
  const found = lines.flatMap((line, index) => (matches(line) ? [index] : []));
  if (found.length === 0) return [];
  if (input.output_mode === "count") return [`${file}:${found.length}`];
  if (input.output_mode !== "content") return [file];
  const before = input["-B"] ?? input["-C"] ?? 0;
  const after = input["-A"] ?? input["-C"] ?? 0;
  const matched = new Set(found);
  const around = new Set(
    found.flatMap((index) => Array.from({ length: before + after + 1 }, (_, step) => index - before + step)),
  );
  return [...around]
    .filter((index) => index >= 0 && index < lines.length)
    .sort((a, b) => a - b)
    .map((index) => {
      const mark = matched.has(index) ? ":" : "-";
      const number = input["-n"] === false ? "" : `${index + 1}${mark}`;
      return `${file}${mark}${number}${(lines[index] ?? "").slice(0, LINE_LENGTH).toWellFormed()}`;
    });
}
