/** Copies one file with a change on the way, and knows the hash of what was read and of what was written. */
import { createHash, type Hash } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { openPlainFile } from "../scan/read-file.ts";
import type { PathMapping } from "./path-mapping.ts";
import { rewriteJson, rewriteLine, type Splice } from "./rewrite-line.ts";

/** What happens to the bytes of a file on their way. */
export type Change =
  | { readonly kind: "none" }
  | { readonly kind: "lines"; readonly mappings: readonly PathMapping[] }
  | { readonly kind: "json"; readonly mappings: readonly PathMapping[] }
  | { readonly kind: "back"; readonly splices: readonly Splice[] };

export interface Copied {
  readonly sourceHash: string;
  readonly hash: string;
  readonly bytes: number;
  /** What was replaced, with places in the new file. */
  readonly splices: readonly Splice[];
}

/** Writes to `target`, which must not exist, and flushes it; without a target only says what would be written. */
export function copyChanged(source: string, target: string | undefined, change: Change): Copied {
  const from = openPlainFile(source);
  let to: number | undefined;
  try {
    to = target === undefined ? undefined : openSync(target, "wx", 0o600);
    const written = createHash("sha256");
    const read = createHash("sha256");
    const splices: Splice[] = [];
    let bytes = 0;
    const write = (piece: Buffer): void => {
      written.update(piece);
      if (to !== undefined) writeWhole(to, piece);
      bytes += piece.length;
    };
    const change_ = changer(change, write, (splice) => splices.push({ ...splice, at: bytes + splice.at }));
    readPieces(from, read, change.kind === "json", change_);
    if (to !== undefined) fsyncSync(to);
    return { sourceHash: read.digest("hex"), hash: written.digest("hex"), bytes, splices };
  } finally {
    closeSync(from);
    if (to !== undefined) closeSync(to);
  }
}

export function hashOf(path: string): string {
  const fd = openPlainFile(path);
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(1024 * 1024);
    for (let count = readSync(fd, buffer); count > 0; count = readSync(fd, buffer))
      hash.update(buffer.subarray(0, count));
    return hash.digest("hex");
  } finally {
    closeSync(fd);
  }
}

type OnPiece = (piece: Buffer, isWhole: boolean) => void;

function changer(change: Change, write: (piece: Buffer) => void, onSplice: (splice: Splice) => void): OnPiece {
  switch (change.kind) {
    case "none":
      return (piece) => write(piece);
    case "lines":
    case "json": {
      const rewrite = change.kind === "lines" ? rewriteLine : rewriteJson;
      return (piece, isWhole) => {
        const rewritten = isWhole ? rewrite(piece, change.mappings) : undefined;
        for (const splice of rewritten?.splices ?? []) onSplice(splice);
        write(rewritten?.bytes ?? piece);
      };
    }
    case "back":
      return takeBack(change.splices, write);
  }
}

/** Puts back what was replaced. Pieces are whole lines, and a splice never goes over the end of one. */
function takeBack(splices: readonly Splice[], write: (piece: Buffer) => void): OnPiece {
  let next = 0;
  let offset = 0;
  return (piece) => {
    let from = 0;
    for (let splice = splices[next]; splice && splice.at < offset + piece.length; splice = splices[next]) {
      write(piece.subarray(from, splice.at - offset));
      write(splice.old);
      from = splice.at - offset + splice.length;
      next += 1;
    }
    write(piece.subarray(from));
    offset += piece.length;
  };
}

const longestLine = 256 * 1024 * 1024;

/** Hands out the file line by line, line feeds included, or whole. A line beyond all measure comes in parts, unchanged. */
function readPieces(fd: number, hash: Hash, asWhole: boolean, onPiece: OnPiece): void {
  const { size } = fstatSync(fd);
  let buffer = Buffer.allocUnsafe(asWhole ? Math.max(1, Math.min(size, longestLine)) : 1024 * 1024);
  let filled = 0;
  let isCut = false;
  for (;;) {
    if (filled === buffer.length && filled < longestLine)
      buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
    else if (filled === buffer.length) {
      onPiece(buffer, false);
      filled = 0;
      isCut = true;
    }
    const count = readSync(fd, buffer, filled, buffer.length - filled, null);
    if (count === 0) break;
    hash.update(buffer.subarray(filled, filled + count));
    filled += count;
    if (asWhole) continue;
    let start = 0;
    for (let end = buffer.indexOf(0x0a); end >= 0 && end < filled; end = buffer.indexOf(0x0a, start)) {
      onPiece(buffer.subarray(start, end + 1), !isCut);
      isCut = false;
      start = end + 1;
    }
    buffer.copyWithin(0, start, filled);
    filled -= start;
  }
  if (filled > 0) onPiece(buffer.subarray(0, filled), !isCut);
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
}
