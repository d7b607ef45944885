/**
 * Summaries of a session that are in the file of another session. Old versions of Claude Code wrote the summaries of a
 * project's earlier conversations at the beginning of each new transcript, and named the last message of each.
 */
import { closeSync, readdirSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DataFile } from "../../../model/data-file.ts";
import { parse } from "../../../scan/line-text.ts";
import { openPlainFile } from "../../../scan/read-file.ts";

/** Remembers the summaries of each project folder, so that a list reads the beginning of each file once. */
export interface ForeignSummaries {
  /** The summary that another file of the project has of this session. */
  of(file: DataFile): string | null;
}

export function createForeignSummaries(): ForeignSummaries {
  const folders = new Map<string, ReadonlyMap<string, string>>();
  return {
    of(file) {
      // A summary is of a conversation, not of a subagent.
      if (file.kind !== "session") return null;
      const folder = dirname(file.path);
      const known = folders.get(folder) ?? summariesIn(folder);
      folders.set(folder, known);
      return known.size === 0 ? null : lastNamed(file, known);
    },
  };
}

/** The summaries at the beginning of a project's transcripts, by the message that they name. */
function summariesIn(folder: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let names: readonly string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    // The folder was deleted meanwhile.
  }
  for (const name of names) if (name.endsWith(".jsonl")) readHead(join(folder, name), found);
  return found;
}

const headBytes = 16 * 1024;
const head = Buffer.allocUnsafeSlow(headBytes);

function readHead(path: string, into: Map<string, string>): void {
  let count = 0;
  try {
    const fd = openPlainFile(path);
    try {
      count = readSync(fd, head, 0, headBytes, 0);
    } finally {
      closeSync(fd);
    }
  } catch {
    return;
  }
  for (let start = 0; start < count;) {
    const end = head.indexOf(0x0a, start);
    if (end < 0 || end >= count) return;
    const isSummary = head.toString("latin1", start, Math.min(end, start + 400)).includes('"summary"');
    const line = isSummary ? parse(head, start, end) : undefined;
    if (line?.["type"] !== "summary") return;
    const { leafUuid, summary } = line;
    if (typeof leafUuid === "string" && typeof summary === "string" && summary !== "") into.set(leafUuid, summary);
    start = end + 1;
  }
}

const uuidKey = Buffer.from('"uuid":"');
/** What is read at once, from the end of a file on: the message that a summary names was the last one when it was written. */
const pieceBytes = 128 * 1024;
/** A piece begins this much before its end, so that no id is cut between two pieces. */
const mostKeyBytes = 128;
const piece = Buffer.allocUnsafeSlow(pieceBytes + mostKeyBytes);

/** The summary whose message is the last one in the file. */
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
    // The file was deleted meanwhile, so there is no summary.
  }
  return null;
}

function lastNamedIn(bytes: Buffer, summaries: ReadonlyMap<string, string>): string | null {
  let last: string | null = null;
  for (let at = bytes.indexOf(uuidKey); at >= 0; at = bytes.indexOf(uuidKey, at + 1)) {
    const from = at + uuidKey.length;
    const until = bytes.indexOf(0x22, from);
    if (until > from && until - from <= 100) last = summaries.get(bytes.toString("latin1", from, until)) ?? last;
  }
  return last;
}
