/** Copies one file with changes, and computes the hashes of the read and the written bytes. */
import { createHash, type Hash } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { openPlainFile } from "../scan/read-file.ts";
import type { PathMapping } from "./path-mapping.ts";
import { rewriteJson, rewriteLine } from "../sources/claude-code/migrate/rewrite-line.ts";
import { collectSplices, splicesIn, type Splice, type SpliceList } from "./splices.ts";

/** How the bytes of a file are changed while it is copied. */
export type Change =
  | { readonly kind: "none" }
  | { readonly kind: "lines"; readonly mappings: readonly PathMapping[] }
  | { readonly kind: "json"; readonly mappings: readonly PathMapping[] }
  | { readonly kind: "back"; readonly splices: SpliceList };

export interface Copied {
  readonly sourceHash: string;
  readonly hash: string;
  readonly bytes: number;
  /** The replaced bytes, with their positions in the new file. */
  readonly splices: SpliceList;
  readonly replacedCount: number;
}

/**
 * Copies a file with a change, and flushes the copy. `target` must not exist. Without a target, nothing is written, and
 * the result is the same.
 */
export function copyChanged(source: string, target: string | undefined, change: Change): Copied {
  const from = openPlainFile(source);
  let to: number | undefined;
  try {
    to = target === undefined ? undefined : openSync(target, "wx", 0o600);
    const written = createHash("sha256");
    const read = createHash("sha256");
    const splices = collectSplices();
    let bytes = 0;
    const output = createOutput(to, written);
    const write = (piece: Buffer): void => {
      output.write(piece);
      bytes += piece.length;
    };
    const change_ = changer(change, write, (splice) => splices.add({ ...splice, at: bytes + splice.at }));
    readPieces(from, read, change.kind === "json", change_);
    output.flush();
    if (to !== undefined) fsyncSync(to);
    const hashes = { sourceHash: read.digest("hex"), hash: written.digest("hex") };
    return { ...hashes, bytes, splices: splices.list(), replacedCount: splices.count };
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

/** Restores the replaced bytes. Pieces are whole lines, and no splice crosses the end of a line. */
function takeBack(list: SpliceList, write: (piece: Buffer) => void): OnPiece {
  const splices = splicesIn(list);
  let next: Splice | undefined = splices.next().value;
  let offset = 0;
  return (piece) => {
    let from = 0;
    while (next && next.at < offset + piece.length) {
      write(piece.subarray(from, next.at - offset));
      write(next.old);
      from = next.at - offset + next.length;
      next = splices.next().value;
    }
    write(piece.subarray(from));
    offset += piece.length;
  };
}

/** Writes and hashes large pieces, because a system call for each line would take most of the time. */
function createOutput(fd: number | undefined, hash: Hash): { write(piece: Buffer): void; flush(): void } {
  const pending = Buffer.allocUnsafe(1024 * 1024);
  let filled = 0;
  const put = (bytes: Buffer): void => {
    hash.update(bytes);
    if (fd !== undefined) writeWhole(fd, bytes);
  };
  const flush = (): void => {
    if (filled > 0) put(pending.subarray(0, filled));
    filled = 0;
  };
  return {
    write(piece) {
      if (filled + piece.length > pending.length) flush();
      if (piece.length > pending.length) put(piece);
      else filled += piece.copy(pending, filled);
    },
    flush,
  };
}

const longestLine = 256 * 1024 * 1024;

/**
 * Reads the file line by line (with line feeds) or as a whole. Passes on a line of more than 256 MiB unchanged, in
 * parts.
 */
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
