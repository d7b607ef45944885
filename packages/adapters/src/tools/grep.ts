import { type Tool, defineTool } from "@skein/core";
import { RE2JS } from "re2js";
import { z } from "zod";
import type { FolderOf } from "./call-place.ts";
import type { ConfinedFolder, FoundFile } from "./confined-folder.ts";
import { globTest } from "./glob-pattern.ts";
import { TOO_MANY_FILES, type WalkOptions } from "./walk-folder.ts";

const FILE_BYTES = 8 * 1024 * 1024;
const LINE_LENGTH = 500;
const MOST = 500;
/** A search that takes longer returns what it has found so far. */
const SEARCH_MS = 20_000;

const Input = z.object({
  pattern: z.string().min(1).describe("A regular expression (RE2: no look-around, no back-references)."),
  path: z.string().optional().describe("The file or folder to search. Default: the working folder."),
  glob: z.string().optional().describe("Only files whose path matches this pattern, such as *.ts or src/**."),
  output_mode: z.enum(["content", "files_with_matches", "count"]).optional().describe("Default: files_with_matches."),
  "-i": z.boolean().optional().describe("Ignore case."),
  "-n": z.boolean().optional().describe("Show line numbers (content)."),
  "-A": z.number().int().min(0).max(100).optional().describe("Lines after each match (content)."),
  "-B": z.number().int().min(0).max(100).optional().describe("Lines before each match (content)."),
  "-C": z.number().int().min(0).max(100).optional().describe("Lines around each match (content)."),
  head_limit: z.number().int().positive().optional().describe("How many lines or files to return."),
});

/** Searches the files of a folder, with a regex engine whose time is linear in the length of the text. */
export function createGrep(folderOf: FolderOf, now: () => number = Date.now): Tool {
  return defineTool({
    name: "Grep",
    description: "Searches the text of files in the working folder with a regular expression.",
    input: Input,
    policy: "repeatable",
    run: async (input, context) => {
      const { signal } = context;
      const folder = await folderOf(context);
      const matches = lineTest(input.pattern, input["-i"] ?? false);
      const limit = Math.min(input.head_limit ?? MOST, MOST);
      const deadline = now() + SEARCH_MS;
      const shown: string[] = [];
      let note = "";
      const walked = { cut: false };
      for await (const file of folder.contents(filesOf(folder, input, { signal, walked }), FILE_BYTES)) {
        shown.push(...hits(file.shown, linesOf(file.bytes), matches, input));
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
  // Plain text is searched without the engine, because that is faster.
  if (!ignoreCase && !/[\\^$.|?*+()[\]{}]/.test(pattern)) return (line) => line.includes(pattern);
  try {
    const compiled = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return (line) => compiled.matcher(line).find();
  } catch (error) {
    throw new Error(`The pattern is not a valid RE2 regular expression: ${(error as Error).message}`, { cause: error });
  }
}

async function* filesOf(
  folder: ConfinedFolder,
  { path = ".", glob }: z.output<typeof Input>,
  { signal, walked }: Pick<WalkOptions, "signal" | "walked">,
): AsyncGenerator<FoundFile> {
  // A pattern without a folder matches names at any depth, as in ripgrep.
  const fits = glob === undefined ? undefined : globTest(glob.includes("/") ? glob : `**/${glob}`);
  const everywhere = /\.git|node_modules/.test(glob ?? path);
  for await (const file of folder.files(path, { everywhere, signal, walked }))
    // If `path` is a file, the pattern does not apply to it.
    if (!fits || file.path === "" || fits(file.path)) yield file;
}

/** The lines of a text; none for binary content. */
function linesOf(bytes: Uint8Array): readonly string[] {
  if (bytes.subarray(0, 8192).includes(0)) return [];
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
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
