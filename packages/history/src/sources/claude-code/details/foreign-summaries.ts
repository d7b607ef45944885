/**
 * Finds summaries of a session in the file of another session. Old versions of Claude Code began each new transcript
 * with the summaries of the project's earlier conversations. Such a summary has the id of its conversation's last
 * message.
 */
import { closeSync, readdirSync, readSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DataFile } from "../../../model/data-file.ts";
import { parse } from "../../../scan/line-text.ts";
import { valueAfterKey } from "../../../scan/json-scan.ts";
import { openPlainFile } from "../../../scan/read-file.ts";
import { createReadOnce } from "./read-once.ts";

/** Remembers the summaries of each project folder, so that the beginning of each file is read once. */
export interface ForeignSummaries {
  /** Finds the summary of this session in another file of the project. */
  of(file: DataFile): string | null;
}

export function createForeignSummaries(): ForeignSummaries {
  const folders = new Map<string, ProjectSummaries>();
  const named = createReadOnce<string | null>();
  return {
    of(file) {
      // A summary belongs to a conversation, not to a subagent.
      if (file.kind !== "session") return null;
      const folder = dirname(file.path);
      const before = folders.get(folder);
      const known = before && isCurrent(folder, before) ? before : summariesIn(folder);
      folders.set(folder, known);
      const { summaries } = known;
      return summaries.size === 0 ? null : named(file, summaries, () => lastNamed(file, summaries));
    },
  };
}

/** The summaries at the beginning of a project's transcripts. */
interface ProjectSummaries {
  /** The summaries by the id of the last message of their conversation. */
  readonly summaries: ReadonlyMap<string, string>;
  /** When a file was last added or removed. */
  readonly changedMs: number;
  /** The sizes, by path, of files that contain only summaries so far. More summaries may follow. */
  readonly open: ReadonlyMap<string, number>;
  readonly lookedAt: number;
}

/** A folder is not checked again within this time. */
const LOOK_AGAIN_MS = 100;

function isCurrent(folder: string, { changedMs, open, lookedAt }: ProjectSummaries): boolean {
  if (performance.now() - lookedAt < LOOK_AGAIN_MS) return true;
  return changeOf(folder) === changedMs && [...open].every(([path, size]) => sizeOf(path) === size);
}

function summariesIn(folder: string): ProjectSummaries {
  const summaries = new Map<string, string>();
  const open = new Map<string, number>();
  const changedMs = changeOf(folder);
  let names: readonly string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    // The folder no longer exists.
  }
  for (const name of names) {
    if (!name.endsWith(".jsonl")) continue;
    const path = join(folder, name);
    const size = sizeOf(path);
    if (!readHead(path, summaries)) open.set(path, size);
  }
  return { summaries, changedMs, open, lookedAt: performance.now() };
}

function changeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

const headBytes = 16 * 1024;
const firstBytes = 512;
const head = Buffer.allocUnsafeSlow(headBytes);

/** Returns false if the file has only summaries so far, so that more may follow. */
function readHead(path: string, into: Map<string, string>): boolean {
  let count = 0;
  try {
    const fd = openPlainFile(path);
    try {
      count = readSync(fd, head, 0, firstBytes, 0);
      // Most files do not begin with a summary. Their first bytes are enough to know this.
      if (count === firstBytes && !head.toString("latin1", 0, firstBytes).includes('"summary"')) return true;
      count += readSync(fd, head, count, headBytes - count, count);
    } finally {
      closeSync(fd);
    }
  } catch {
    return true;
  }
  for (let start = 0; start < count;) {
    const end = head.indexOf(0x0a, start);
    if (end < 0 || end >= count) return count === headBytes;
    const isSummary = head.toString("latin1", start, Math.min(end, start + 400)).includes('"summary"');
    const line = isSummary ? parse(head, start, end) : undefined;
    if (line?.["type"] !== "summary") return true;
    const { leafUuid, summary } = line;
    if (typeof leafUuid === "string" && typeof summary === "string" && summary !== "") into.set(leafUuid, summary);
    start = end + 1;
  }
  return count === headBytes;
}

const uuidKey = Buffer.from('"uuid"');
/**
 * The size of a read. The file is read backwards, because a summary refers to a message near the end.
 */
const pieceBytes = 128 * 1024;
/** Pieces overlap by this much, so that no id is cut between two pieces. */
const mostKeyBytes = 128;
const piece = Buffer.allocUnsafeSlow(pieceBytes + mostKeyBytes);

/** Finds the summaries that refer to messages of this file. Returns the summary whose message comes last. */
function lastNamed({ path, size }: DataFile, summaries: ReadonlyMap<string, string>): string | null {
  try {
    const fd = openPlainFile(path);
    try {
      for (let end = size; end > 0; end -= pieceBytes) {
        const start = Math.max(0, end - pieceBytes);
        const count = readSync(fd, piece, 0, Math.min(end + mostKeyBytes, size) - start, start);
        const found = lastNamedIn(piece.subarray(0, count), summaries);
        if (found !== null) return found;
      }
    } finally {
      closeSync(fd);
    }
  } catch {
    // The file no longer exists.
  }
  return null;
}

function lastNamedIn(bytes: Buffer, summaries: ReadonlyMap<string, string>): string | null {
  let last: string | null = null;
  for (let at = bytes.indexOf(uuidKey); at >= 0; at = bytes.indexOf(uuidKey, at + 1)) {
    const from = valueAfterKey(bytes, at, uuidKey.length) + 1;
    const until = bytes.indexOf(0x22, from);
    if (from > 0 && until > from && until - from <= 100)
      last = summaries.get(bytes.toString("latin1", from, until)) ?? last;
  }
  return last;
}
