/**
 * Reads the sessions of Droid (Factory). Each session has a file of lines, and a settings file with one sum of tokens.
 */
import { basename, join } from "node:path";
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import {
  documentAt,
  eachRecord,
  entriesIn,
  filesNamed,
  firstRecord,
  isFolder,
  originalFile,
  originalLine,
  stampOf,
} from "../port/files.ts";
import { SUM, type TranslatedSource, type Problem, type Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";

export const droid: TranslatedSource = {
  name: "droid",
  reads: "translated",
  roots: ({ homes }) => homes.map((home) => join(home, ".factory")),
  owns: (path) =>
    isFolder(join(path, "sessions")) &&
    entriesIn(join(path, "sessions"))
      .flatMap(({ name }) => filesNamed(join(path, "sessions", name), /^[0-9a-f-]{36}\.jsonl$/, [], 0).slice(0, 1))
      .some((file) => firstRecord(file)?.["type"] === "session_start"),
  units(root) {
    const problems: Problem[] = [];
    const units = filesNamed(join(root, "sessions"), /\.jsonl$/, problems, 2).map((path) => ({
      id: basename(path, ".jsonl"),
      root,
      path,
      ...stampOf(path, settingsOf(path)),
    }));
    return { units, problems };
  },
  read(unit, writer) {
    eachRecord(unit.path, { writer, marks: [] }, (record, from) => writeRecord(record, from, unit, writer));
    writeUsage(unit, writer);
  },
  original: ({ path }, from) => (from === "settings.json" ? originalFile(settingsOf(path)) : originalLine(path, from)),
};

function settingsOf(path: string): string {
  return `${path.slice(0, -".jsonl".length)}.settings.json`;
}

function writeRecord(record: Value, from: string, unit: Unit, writer: TranscriptWriter): void {
  const message = objectOf(record["message"]);
  const id = stringOf(record["id"]) ?? from;
  const before = stringOf(record["parentId"]);
  const placed = {
    id,
    from,
    at: stringOf(record["timestamp"]),
    ...(before !== null && { parent: writer.uuidOf(before) }),
  };
  if (record["type"] === "session_start") {
    writer.place({ cwd: stringOf(record["cwd"]) });
    writer.title(stringOf(record["title"]), from);
  } else if (record["type"] === "message" && message["role"] === "assistant") {
    const content = arrayOf(message["content"]).map(objectOf);
    writer.answer({ ...placed, call: `droid:${unit.id}:${id}`, model: modelOf(unit), content });
  } else if (record["type"] === "message" && message["role"] === "user") {
    const content = message["content"];
    writer.user(typeof content === "string" ? content : arrayOf(content).map(objectOf), placed);
  } else writer.other(String(record["type"]), record, placed);
}

/** Returns the name of the model, for example `Name` for `custom:Name-[Proxy]-0`. */
function modelOf(unit: Unit): string {
  const model = stringOf(documentAt(settingsOf(unit.path))?.["model"]) ?? "";
  return /^custom:(.+?)(?:-\[[^\]]*\])?(?:-\d+)?$/.exec(model)?.[1] ?? model;
}

/** Writes the sum for the whole session. The output may already include thinking, so thinking is not added. */
function writeUsage(unit: Unit, writer: TranscriptWriter): void {
  const settings = documentAt(settingsOf(unit.path));
  const usage = objectOf(settings?.["tokenUsage"]);
  const of = (key: string): number => numberOf(usage[key]) ?? 0;
  const tokens = {
    input: of("inputTokens"),
    output: of("outputTokens"),
    cacheRead: of("cacheReadTokens"),
    cacheWrite: of("cacheCreationTokens"),
  };
  if (tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite === 0) return;
  const at = stringOf(settings?.["providerLockTimestamp"]) ?? unit.mtimeMs;
  writer.usage(`${SUM}droid:${unit.id}`, modelOf(unit), tokens, { at, from: "settings.json" });
  if (of("thinkingTokens") > 0)
    writer.other("thinking-tokens", { thinkingTokens: of("thinkingTokens") }, { at, from: "settings.json" });
}
