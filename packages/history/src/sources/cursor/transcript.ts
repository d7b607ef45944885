/** Reads a transcript of Cursor's agent. Its lines have no ids, results or models. Only prompts may have a time. */
import { closeSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { arrayOf, isObject, objectOf, stringOf, type Value } from "../../model/value.ts";
import { openPlainFile } from "../../scan/read-file.ts";
import type { Unit } from "../port/source.ts";
import type { Block, TranscriptWriter } from "../port/transcript-writer.ts";

export function createTranscript(
  unit: Unit,
  writer: TranscriptWriter,
): { add(line: Value, from: string): void; finish(): void } {
  const lines: { readonly value: Value; readonly from: string }[] = [];
  return {
    add: (value, from) => void lines.push({ value, from }),
    finish() {
      const cwd = folderNamed(
        String(unit.extra?.["project"]),
        lines.flatMap(({ value }) => pathsIn(value)),
      );
      writer.place({ cwd });
      for (const { value, from } of lines) writeLine(unit, value, from, writer);
    },
  };
}

function writeLine(unit: Unit, value: Value, from: string, writer: TranscriptWriter): void {
  const content = objectOf(value["message"])["content"];
  if (value["role"] === "user") {
    const { text, at } = promptOf(content);
    // A line without a time gets the time of the previous line. The first line gets the time of the file.
    writer.user(text, { from, at: at ?? (writer.last === null ? startOf(unit.path) : null) });
  } else if (value["role"] === "assistant") {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : arrayOf(content).map(objectOf);
    const blocks = parts.map((part, at): Block => {
      if (part["type"] !== "tool_use") return part;
      const id = stringOf(part["id"]) ?? `${unit.id}:${from}:${at}`;
      return { type: "tool_use", id, name: part["name"], input: objectOf(part["input"]) };
    });
    writer.answer({ call: `cursor:${unit.id}:${from}`, model: "", content: blocks, from });
  } else writer.other(stringOf(value["type"]) ?? "unknown", value, { from });
}

/** Returns the creation time of the file, which is the estimate for transcripts without times. */
export function startOf(path: string): number | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return null;
  return stat.birthtimeMs > 0 ? Math.min(stat.birthtimeMs, stat.mtimeMs) : stat.mtimeMs;
}

/** Returns the typed text and its time, which Cursor puts in tags. */
export function promptOf(content: unknown): { readonly text: string; readonly at: number | null } {
  const text =
    typeof content === "string"
      ? content
      : arrayOf(content)
          .flatMap((part) => stringOf(objectOf(part)["text"]) ?? [])
          .join("\n");
  const time = /<timestamp>([^<]*)<\/timestamp>/.exec(text)?.[1];
  const query = /<user_query>\s*([\s\S]*?)\s*<\/user_query>/.exec(text)?.[1];
  return { text: query ?? text, at: time === undefined ? null : timeOf(time) };
}

const tailBytes = 64 * 1024;

/** Returns the time of the last prompt, if the end of the file contains it. */
export function lastPromptTime(path: string): number | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const bytes = Buffer.alloc(Math.min(size, tailBytes));
  const fd = openPlainFile(path);
  try {
    readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  } finally {
    closeSync(fd);
  }
  const times = [...bytes.toString("latin1").matchAll(/<timestamp>([^<]{1,80})<\/timestamp>/g)];
  return timeOf(times.at(-1)?.[1] ?? "") ?? undefined;
}

/** Parses a time such as `Sunday, Aug 2, 2026, 3:51 AM (UTC-7)`, which has no seconds. */
function timeOf(text: string): number | null {
  const [, date, hour, minute, half, sign, offset, more] =
    /^\w+, (\w+ \d+, \d{4}), (\d+):(\d\d) (AM|PM) \(UTC(?:([+-])(\d+)(?::(\d\d))?)?\)$/.exec(text.trim()) ?? [];
  if (date === undefined) return null;
  const day = Date.parse(`${date} 00:00:00 UTC`);
  const hours = (Number(hour) % 12) + (half === "PM" ? 12 : 0);
  const shift = (Number(offset ?? 0) * 60 + Number(more ?? 0)) * (sign === "-" ? -1 : 1);
  const time = day + (hours * 60 + Number(minute) - shift) * 60_000;
  return Number.isNaN(time) ? null : time;
}

function pathsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return value.startsWith("/") && value.length < 4096 ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(pathsIn);
  return isObject(value) ? Object.values(value).flatMap(pathsIn) : [];
}

/**
 * Finds the project of a folder name, which cannot be decoded. The function looks for a folder with this name in paths
 * that the agent used.
 */
export function folderNamed(name: string, paths: readonly string[]): string | null {
  for (const path of paths)
    for (let at = path; at.length > 1; at = dirname(at))
      if (at.replaceAll(/[^A-Za-z0-9]/g, "-").replace(/^-+/, "") === name) return at;
  return null;
}
