import type { LibraryConfig } from "../../../config.ts";
import { chosenFiles } from "../../../list/chosen-files.ts";
import { knownBlockTypes } from "../format/known-block-types.ts";
import { isKnownLineType } from "../format/known-line-types.ts";
import type { lineSchemas } from "../format/lines.ts";
import { arrayOf, objectOf, stringOf, type Value } from "../../../model/value.ts";
import { createPause } from "../../../scan/pause.ts";
import { readLines } from "../../../scan/read-lines.ts";

export interface SeenType {
  readonly type: string;
  readonly count: number;
  readonly isKnown: boolean;
  /** The file of the first object of this type. */
  readonly path: string;
  readonly line: number;
  /** The fields of the first object of this type. */
  readonly fields: readonly string[];
}

interface FormProblem {
  readonly type: string;
  /** The field that does not match the schema. */
  readonly field: string;
  readonly count: number;
  readonly path: string;
  readonly line: number;
}

export interface FormatReport {
  readonly lineTypes: readonly SeenType[];
  readonly blockTypes: readonly SeenType[];
  /** Lines of a known type that do not match its schema. They are still read. */
  readonly formProblems: readonly FormProblem[];
  /** The number of lines of each version of Claude Code. */
  readonly versions: Readonly<Record<string, number>>;
  readonly unknownLines: number;
  readonly damagedLines: number;
  readonly skippedFiles: number;
}

/** Reports unknown types of lines and blocks, and lines of a known type in an unknown form. */
export async function checkFormat(config: LibraryConfig = {}): Promise<FormatReport> {
  const { lineSchemas: schemas } = await import("../format/lines.ts");
  const { files, skipped } = await chosenFiles(config);
  const pause = createPause(config.signal);
  const lineTypes = createCounter(isKnownLineType);
  const blockTypes = createCounter((type) => knownBlockTypes.has(type));
  const problems = new Map<string, FormProblem>();
  const versions = new Map<string, number>();
  let damagedLines = 0;
  for (const { path } of files) {
    readLines(path, {
      line: ({ value, line }) => {
        const type = stringOf(value["type"]) ?? "(none)";
        lineTypes.add(type, value, path, line);
        for (const block of arrayOf(objectOf(value["message"])["content"])) {
          blockTypes.add(stringOf(objectOf(block)["type"]) ?? "(none)", objectOf(block), path, line);
        }
        const version = stringOf(value["version"]);
        if (version !== null) versions.set(version, (versions.get(version) ?? 0) + 1);
        noteProblem(problems, value, schemas, { type, path, line });
      },
      damage: () => (damagedLines += 1),
    });
    await pause();
  }
  const seen = lineTypes.seen();
  return {
    lineTypes: seen,
    blockTypes: blockTypes.seen(),
    formProblems: [...problems.values()].sort((a, b) => b.count - a.count),
    versions: Object.fromEntries([...versions].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))),
    unknownLines: seen.reduce((sum, { isKnown, count }) => sum + (isKnown ? 0 : count), 0),
    damagedLines,
    skippedFiles: skipped.length,
  };
}

function createCounter(isKnown: (type: string) => boolean): {
  add(type: string, value: Value, path: string, line: number): void;
  seen(): readonly SeenType[];
} {
  const types = new Map<string, { count: number; path: string; line: number; fields: readonly string[] }>();
  return {
    add(type, value, path, line) {
      const seen = types.get(type);
      if (seen) seen.count += 1;
      else types.set(type, { count: 1, path, line, fields: Object.keys(value) });
    },
    seen: () =>
      [...types]
        .map(([type, details]) => ({ type, isKnown: isKnown(type), ...details }))
        .sort((a, b) => b.count - a.count),
  };
}

function noteProblem(
  problems: Map<string, FormProblem>,
  value: Value,
  schemas: typeof lineSchemas,
  at: { readonly type: string; readonly path: string; readonly line: number },
): void {
  const { type } = at;
  const schema = Object.hasOwn(schemas, type) ? schemas[type as keyof typeof schemas] : undefined;
  const result = schema?.safeParse(value);
  if (!result || result.success) return;
  const field = result.error.issues[0]?.path.filter((part) => typeof part === "string").join(".") ?? "";
  const key = `${type}\0${field}`;
  const known = problems.get(key);
  problems.set(key, known ? { ...known, count: known.count + 1 } : { field, count: 1, ...at });
}
