/** Writes, reads and merges the pieces of an archived file. */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, lstatSync, readdirSync, readSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { codeOf, makeFolder } from "../disk/durable-files.ts";
import { openPlainFile } from "../scan/read-file.ts";
import { placeOfName, readHead, readSegment, segmentName, writeSegment, type SegmentHead } from "./segment.ts";

export interface Piece {
  readonly path: string;
  readonly generation: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the pieces of the newest generation in order. A file that was rewritten begins a new generation. Pieces whose
 * bytes are in a longer piece are left out.
 */
export function piecesOf(folder: string): readonly Piece[] {
  const all = namesIn(folder).flatMap((name): Piece[] => {
    const place = placeOfName(name);
    return place ? [{ path: join(folder, name), ...place }] : [];
  });
  const newest = Math.max(0, ...all.map(({ generation }) => generation));
  return chainOf(all.filter(({ generation }) => generation === newest));
}

function chainOf(pieces: readonly Piece[]): readonly Piece[] {
  const chain: Piece[] = [];
  for (let at = 0; ;) {
    const next = pieces
      .filter(({ from, to }) => from === at && to > at)
      .reduce<Piece | undefined>((a, b) => (a && a.to >= b.to ? a : b), undefined);
    if (!next) return chain;
    chain.push(next);
    at = next.to;
  }
}

const pieceBytes = 8 * 1024 * 1024;
const mostSmallPieces = 16;

/** Archives the new bytes of a file, and returns their number. */
export function archiveFile(source: string, folder: string): number {
  const fd = openPlainFile(source);
  try {
    const { size, mtimeMs, mode } = fstatSync(fd);
    const pieces = piecesOf(folder);
    const last = pieces.at(-1);
    const head = last ? readHead(last.path) : undefined;
    if (last && head && head.to === size && head.mtimeMs === mtimeMs) return 0;
    const hasGrown = last !== undefined && head !== undefined && size >= last.to && checkOf(fd, last.to) === head.check;
    if (hasGrown && size === last.to) return 0;
    if (size === 0) return 0;
    const generation = last ? last.generation + (hasGrown ? 0 : 1) : 1;
    makeFolder(folder);
    let from = hasGrown ? last.to : 0;
    const start = from;
    while (from < size) {
      const bytes = Buffer.allocUnsafe(Math.min(pieceBytes, size - from));
      const count = readSync(fd, bytes, 0, bytes.length, from);
      if (count === 0) break;
      const to = from + count;
      writeSegment(
        folder,
        { generation, from, to, check: checkOf(fd, to), mtimeMs, mode: mode & 0o777 },
        bytes.subarray(0, count),
      );
      from = to;
    }
    mergeSmall(folder);
    return from - start;
  } finally {
    closeSync(fd);
  }
}

/** Yields the uncompressed bytes of an archived file, piece by piece. */
export function* readArchived(folder: string): Generator<Buffer> {
  for (const { path } of piecesOf(folder)) yield readSegment(path).bytes;
}

export function lastHead(folder: string): SegmentHead | undefined {
  const last = piecesOf(folder).at(-1);
  return last && readHead(last.path);
}

/**
 * Merges small pieces. Every update of the archive adds a piece to a file that has grown. The small pieces are removed
 * after the merged piece is written.
 */
function mergeSmall(folder: string): void {
  const pieces = piecesOf(folder);
  if (pieces.length <= mostSmallPieces) return;
  let group: Piece[] = [];
  const groups = [group];
  for (const piece of pieces) {
    const bytes = group.reduce((sum, { from, to }) => sum + to - from, 0);
    if (bytes + piece.to - piece.from > pieceBytes) {
      group = [];
      groups.push(group);
    }
    group.push(piece);
  }
  for (const members of groups) {
    const [first] = members;
    const last = members.at(-1);
    if (!first || !last || members.length < 2) continue;
    const head = readHead(last.path);
    const { generation, check, mtimeMs, mode } = head;
    const merged = { generation, from: first.from, to: last.to, check, mtimeMs, mode };
    writeSegment(folder, merged, Buffer.concat(members.map(({ path }) => readSegment(path).bytes)));
    const name = segmentName(merged);
    for (const { path } of members) if (!path.endsWith(name)) unlinkSync(path);
  }
}

const checkBytes = 4096;

function checkOf(fd: number, end: number): string {
  const hash = createHash("sha256");
  const bytes = Buffer.allocUnsafe(checkBytes);
  for (const start of [0, Math.max(0, end - checkBytes)]) {
    const count = readSync(fd, bytes, 0, Math.min(checkBytes, end - start), start);
    hash.update(bytes.subarray(0, count));
  }
  return hash.digest("base64");
}

function namesIn(folder: string): readonly string[] {
  try {
    if (!lstatSync(folder).isDirectory()) return [];
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
    throw error;
  }
}
