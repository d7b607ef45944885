/** Functions for sources that read files. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  type Dirent,
  type Stats,
} from "node:fs";
import { sep } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { isObject, type Value } from "../../model/value.ts";
import { parseLine } from "../../scan/parse-line.ts";
import { forEachLine, type Region } from "../../scan/line-splitter.ts";
import { NotAFileError, readFile } from "../../scan/read-file.ts";
import { aboutDamage } from "./about-damage.ts";
import type { Original, Problem, Unit } from "./source.ts";
import { eachMarkedLine } from "./marked-lines.ts";
import type { TranscriptWriter } from "./transcript-writer.ts";

/**
 * Returns the entries of a folder, or an empty list if the folder does not exist. Reports a folder that cannot be read.
 */
export function entriesIn(folder: string, problems?: Problem[]): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    report(folder, error, problems);
    return [];
  }
}

/** Returns false also for a path that this user may not access, and reports this path as a problem. */
export function isFolder(path: string, problems?: Problem[]): boolean {
  return statOf(path, problems)?.isDirectory() ?? false;
}

/** Returns false also for a path that this user may not access, and reports this path as a problem. */
export function isFile(path: string, problems?: Problem[]): boolean {
  return statOf(path, problems)?.isFile() ?? false;
}

function statOf(path: string, problems?: Problem[]): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    report(path, error, problems);
    return undefined;
  }
}

function report(path: string, error: unknown, problems?: Problem[]): void {
  const code = error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
  if (code !== "ENOENT" && code !== "ENOTDIR") problems?.push({ path, message: code });
}

/**
 * Returns the text of a plain file, even if the path is a symbolic link. Rejects a pipe or a device, because it may
 * have no end.
 */
export function textAt(path: string): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) throw new NotAFileError(path);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

interface Stamped {
  readonly stamp: string;
  readonly mtimeMs: number;
}

/**
 * Returns a text that changes when one of these files or folders changes, and the time of the newest change. A path may
 * be missing.
 */
export function stampOf(...paths: readonly string[]): Stamped {
  const stamps: string[] = [];
  let newest = 0;
  for (const path of paths) {
    const stat = linkStatOf(path);
    stamps.push(stat ? stampIn(stat) : "-");
    newest = Math.max(newest, stat?.mtimeMs ?? 0);
  }
  return { stamp: stamps.join(" "), mtimeMs: newest };
}

/** Returns the stamp of a plain file, or undefined if the path is not a plain file. */
export function fileStamp(path: string, problems?: Problem[]): Stamped | undefined {
  const stat = linkStatOf(path, problems);
  return stat?.isFile() ? { stamp: stampIn(stat), mtimeMs: stat.mtimeMs } : undefined;
}

const stampIn = ({ size, mtimeMs, ino }: Stats): string => `${size}.${mtimeMs}.${ino}`;

const orNothing = { throwIfNoEntry: false } as const;

function linkStatOf(path: string, problems?: Problem[]): Stats | undefined {
  try {
    return lstatSync(path, orNothing);
  } catch (error) {
    report(path, error, problems);
    return undefined;
  }
}

/**
 * The buffer for the beginnings of files. A list reads thousands of beginnings, one after the other, so one buffer is
 * enough.
 */
const headBuffer = Buffer.allocUnsafeSlow(16 * 1024);

/** Calls `onLine` for each line of a file of JSON lines. The file may be compressed. */
export function eachLine(
  path: string,
  onLine: (bytes: Buffer, number: number, unterminated: boolean) => void,
  buffer?: Buffer,
): void {
  let number = 0;
  const onRegion = (region: Region): void => {
    if (region.tooLong) {
      number += 1;
      onLine(Buffer.from('"a line that is longer than the limit"'), number, false);
      return;
    }
    forEachLine(region, (start, end) => {
      number += 1;
      onLine(region.bytes.subarray(start, end), number, region.unterminated && end === region.end);
    });
  };
  if (!path.endsWith(".zst")) {
    readFile(path, buffer ? { buffer } : {}, onRegion);
    return;
  }
  const bytes = zstdDecompressSync(readFileSync(path));
  onRegion({ bytes, start: 0, end: bytes.length, offset: 0, tooLong: false, unterminated: bytes.at(-1) !== 0x0a });
}

export interface RecordOptions {
  readonly writer: TranscriptWriter;
  /**
   * Each line that is needed to count tokens contains one of these texts. If only usage is wanted, only the first line
   * and lines with such a text are read.
   */
  readonly marks?: readonly string[];
  /** Called after the first line. If it returns true, all lines are read. */
  readonly needsAll?: () => boolean;
}

/**
 * Calls `onRecord` for each record of a file of JSON lines, and writes damaged lines unchanged. If only the usage is
 * wanted, lines without a mark are not parsed.
 */
export function eachRecord(
  path: string,
  { writer, marks, needsAll }: RecordOptions,
  onRecord: (value: Value, from: string) => void,
): void {
  if (writer.wants === "usage" && marks && !path.endsWith(".zst")) {
    eachMarkedLine(path, { marks, needsAll }, (bytes, offset) => {
      const records = parseLine(bytes, { line: 1, offset }, () => {});
      for (const [at, { value }] of records.entries()) onRecord(value, placeOf(`byte ${offset}`, at));
    });
    return;
  }
  const onLine = (bytes: Buffer, number: number, unterminated: boolean): void => {
    const place = { line: number, offset: number - 1, unterminated };
    const records = parseLine(bytes, place, ({ kind, message, text }) => {
      // Lines with these kinds of damage can still be read.
      if (kind === "glued" || kind === "invalid-utf8" || kind === "nul-bytes")
        writer.damage(`${aboutDamage}line ${number}: ${message}`);
      else writer.damage(text ?? kind, kind === "torn");
    });
    for (const [at, { value }] of records.entries()) onRecord(value, placeOf(`line ${number}`, at));
  };
  eachLine(path, onLine, writer.wants === "head" ? headBuffer : undefined);
}

/** Returns the place of a record. If several records are joined in one line, the place contains a number. */
function placeOf(line: string, at: number): string {
  return at === 0 ? line : `${line} record ${at + 1}`;
}

/** Returns the line at `line 12` or `line 12 record 2`, unchanged. */
export function originalLine(path: string, from: string): Original {
  const wanted = Number(/^line (\d+)(?: record \d+)?$/.exec(from)?.[1]);
  let text: string | undefined;
  if (isFile(path))
    eachLine(path, (bytes, number) => {
      if (number === wanted) text = bytes.toString("utf8");
    });
  return { path, text };
}

/** Returns a whole file as an original, for example the settings of a session. */
export function originalFile(path: string): Original {
  return { path, text: isFile(path) ? textAt(path) : undefined };
}

/** Returns the first record of a file, or undefined if the first `most` bytes do not contain it. */
export function firstRecord(path: string, most = 256 * 1024): Value | undefined {
  let found: Value | undefined;
  try {
    readFile(path, { until: most, buffer: headBuffer }, (region) => {
      if (found) return;
      const end = region.bytes.indexOf(0x0a, region.start);
      const line = region.bytes.subarray(region.start, end < 0 || end > region.end ? region.end : end);
      found = parseLine(line, { line: 1, offset: 0 }, () => {})[0]?.value;
    });
  } catch {
    return undefined;
  }
  return found;
}

/** Returns a JSON document, or undefined if it does not exist or is not an object. */
export function documentAt(path: string): Value | undefined {
  try {
    const value: unknown = JSON.parse(textAt(path));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a JSON document of a session. Reports damage if it cannot be read. */
export function documentOf(path: string, writer: TranscriptWriter): Value | undefined {
  let text: string;
  try {
    text = textAt(path);
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
    writer.damage(`${aboutDamage}a document that is not an object`);
  } catch (error) {
    writer.damage(
      `${aboutDamage}a document that cannot be read: ${error instanceof SyntaxError ? "not JSON" : String(error)}`,
    );
  }
  return undefined;
}

/** Returns the part of a document at a path such as `messages/3`. */
export function originalPart(path: string, from: string): Original {
  let part: unknown = documentAt(path);
  for (const key of from === "" ? [] : from.split("/")) {
    part = Array.isArray(part) ? (part as unknown[])[Number(key)] : isObject(part) ? part[key] : undefined;
  }
  return { path, text: part === undefined ? undefined : JSON.stringify(part) };
}

/** Returns the files with a matching name in a folder and its subfolders, without following links. */
export function filesNamed(folder: string, name: RegExp, problems: Problem[], depth = 8): readonly string[] {
  return entriesIn(folder, problems).flatMap((entry) => {
    const path = folder + sep + entry.name;
    if (entry.isDirectory()) return depth > 0 ? filesNamed(path, name, problems, depth - 1) : [];
    return entry.isFile() && name.test(entry.name) ? [path] : [];
  });
}

/** Makes the unit of a session that is in one file. */
export function unitOf(root: string, path: string, id: string, extra?: Unit["extra"]): Unit {
  return { id, root, path, ...stampOf(path), ...(extra && { extra }) };
}
