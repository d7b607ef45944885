/** Reads a few records of one agent, to test rules that the fixtures do not cover. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../../src/model/value.ts";
import type { SourceName, TranslatedSource, Unit } from "../../../src/sources/port/source.ts";
import { createTranscriptWriter } from "../../../src/sources/port/transcript-writer.ts";
import { readUsage } from "../../../src/sources/port/usage-writer.ts";
import { sources } from "../../../src/sources/registry.ts";
import { column, valueOf } from "../../../src/usage/usage-table.ts";
import { temporaryFolder } from "../agent-data.ts";

/**
 * The content of each file. An array is written as JSON lines, an object as a JSON document, and a text unchanged. The
 * text of a database is SQL.
 */
type Files = Readonly<Record<string, string | Buffer | object | readonly object[]>>;

/** Writes files into a folder. Default: a new temporary folder. */
export function folderWith(files: Files, folder = temporaryFolder()): string {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    if (/\.(db|sqlite|vscdb)$/.test(name)) execute(path, textOf(content).toString());
    else writeFileSync(path, textOf(content));
  }
  return folder;
}

export function execute(path: string, sql: string): void {
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

function textOf(content: Files[string]): string | Buffer {
  if (typeof content === "string" || Buffer.isBuffer(content)) return content;
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content.map((line) => `${JSON.stringify(line)}\n`).join("");
}

export interface Read {
  readonly id: string;
  readonly unit: Unit;
  readonly lines: readonly Value[];
  /** The unreadable records, which were written unchanged. */
  readonly damage: readonly string[];
  readonly parentId: string | undefined;
  readonly meta: Readonly<Record<string, string>>;
}

function sourceNamed(name: SourceName): TranslatedSource {
  const source = sources.find((each) => each.name === name);
  if (source?.reads !== "translated") throw new Error(`${name} is read in place`);
  return source;
}

export function unitsIn(name: SourceName, root: string): readonly Unit[] {
  return sourceNamed(name).units(root).units;
}

/** Reads every session and subagent of a root, in the order of their ids. */
export function readAll(name: SourceName, root: string): readonly Read[] {
  return unitsIn(name, root)
    .map((unit) => readUnit(name, unit))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Reads the only session of these files. */
export function readOne(name: SourceName, files: Files): Read {
  const [read, ...others] = readAll(name, folderWith(files));
  expect(others).toEqual([]);
  if (!read) throw new Error("no session");
  return read;
}

function readUnit(name: SourceName, unit: Unit): Read {
  const lines: Value[] = [];
  const damage: string[] = [];
  const writer = createTranscriptWriter({
    source: name,
    sessionId: unit.id,
    onLine(line) {
      try {
        lines.push(JSON.parse(line) as Value);
      } catch {
        damage.push(line.trim());
      }
    },
  });
  sourceNamed(name).read(unit, writer);
  const { parent } = writer.head;
  return { id: unit.id, unit, lines, damage, parentId: parent?.sessionId, meta: parent?.meta ?? {} };
}

/** Returns the original of a line with this field `from`. */
export function originalIn(name: SourceName, { unit }: Read, from: string): string | undefined {
  return sourceNamed(name).original(unit, from).text;
}

export interface Call {
  readonly id: string;
  readonly model: string;
  readonly at: string | null;
  readonly input: number | null;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
  readonly usd: number | null;
}

/** Returns each model call with tokens once. Also checks that `readUsage` counts the same without translating. */
export function callsIn(name: SourceName, reads: readonly Read[]): readonly Call[] {
  const calls = new Map<string, Call>();
  for (const { lines, unit } of reads) {
    const own = lines.flatMap((line) => callOf(line) ?? []);
    for (const call of own) if (!calls.has(call.id)) calls.set(call.id, call);
    const { table } = readUsage(sourceNamed(name), unit);
    const counted = table.ids.map((_id, row) => [
      valueOf(table, row, column.input),
      valueOf(table, row, column.output),
      valueOf(table, row, column.cacheRead),
      valueOf(table, row, column.cacheWrite),
    ]);
    const unique = new Map(own.map((call) => [call.id, call]));
    const fromLines = [...unique.values()].map(({ input, output, cacheRead, cacheWrite }) => [
      input ?? 0,
      output,
      cacheRead,
      cacheWrite,
    ]);
    expect(counted.toSorted(byText)).toEqual(fromLines.toSorted(byText));
  }
  return [...calls.values()];
}

function byText(a: readonly number[], b: readonly number[]): number {
  return a.join() < b.join() ? -1 : 1;
}

function callOf(line: Value): Call | undefined {
  const message = objectOf(
    line["type"] === "progress" ? objectOf(objectOf(line["data"])["message"])["message"] : line["message"],
  );
  const usage = objectOf(message["usage"]);
  if (numberOf(usage["output_tokens"]) === null) return undefined;
  const of = (key: string): number => numberOf(usage[key]) ?? 0;
  return {
    id: String(message["id"]),
    model: String(message["model"]),
    at: stringOf(line["timestamp"]),
    input: numberOf(usage["input_tokens"]),
    output: of("output_tokens"),
    cacheRead: of("cache_read_input_tokens"),
    cacheWrite: of("cache_creation_input_tokens"),
    reasoning: numberOf(objectOf(usage["output_tokens_details"])["reasoning_tokens"]) ?? 0,
    usd: numberOf(line["reportedCostUSD"]),
  };
}

/** Returns the messages from the beginning to the last line, without abandoned branches. */
export function threadOf({ lines }: Read): readonly string[] {
  const byUuid = new Map(lines.map((line) => [line["uuid"], line]));
  const thread: string[] = [];
  let at = lines.findLast((line) => typeof line["uuid"] === "string" && line["isSidechain"] !== true);
  while (at) {
    thread.unshift(saidIn(at));
    expect(thread.length, "lines that follow each other in a circle").toBeLessThanOrEqual(lines.length);
    at = byUuid.get(at["parentUuid"] ?? "");
  }
  return thread;
}

/** Returns the text of a line. A mark comes before a summary, a message that no person typed, and a failed result. */
export function saidIn(line: Value): string {
  const { content } = objectOf(line["message"]);
  if (line["subtype"] === "compact_boundary") return "(compaction)";
  const mark = line["isMeta"] === true ? "meta: " : line["isCompactSummary"] === true ? "summary: " : "";
  if (typeof content === "string") return `${mark}${content}`;
  const texts = arrayOf(content)
    .map(objectOf)
    .map((block) => {
      if (block["type"] === "tool_result")
        return `${block["is_error"] === true ? "failed: " : ""}${typeof block["content"] === "string" ? block["content"] : JSON.stringify(block["content"])}`;
      return String(block["text"] ?? block["thinking"] ?? block["name"] ?? block["type"]);
    });
  return `${mark}${texts.join(" | ")}`;
}

export function titleOf({ lines }: Read): unknown {
  return lines.findLast(({ type }) => type === "custom-title")?.["customTitle"];
}

/** Returns the line types that Claude Code's format does not have. */
export function othersIn({ lines }: Read): readonly string[] {
  return lines.flatMap(({ type }) => (typeof type === "string" && type.includes(":") ? [type] : []));
}
