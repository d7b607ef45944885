/**
 * A piece of an archived file: the compressed bytes of one range. A piece never changes.
 *
 * Its first line is JSON that describes the bytes. A piece is written under another name, flushed and then renamed, so
 * it is complete or does not exist. Several processes may write pieces, because overlapping pieces have the same bytes.
 */
import { createHash, randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { syncFolder } from "../disk/durable-files.ts";

export interface SegmentHead {
  readonly v: 1;
  /** A file that was rewritten begins a new generation. */
  readonly generation: number;
  readonly from: number;
  readonly to: number;
  /** The hash of the uncompressed bytes. */
  readonly sha256: string;
  /**
   * A hash of the first and the last bytes before `to`. It changes if the file is rewritten, but not if the file grows.
   */
  readonly check: string;
  /** The modification time of the file when the piece was archived. */
  readonly mtimeMs: number;
  readonly mode: number;
}

const longestHead = 1024;

export function segmentName({ generation, from, to }: Pick<SegmentHead, "generation" | "from" | "to">): string {
  const number = (value: number, digits: number): string => String(value).padStart(digits, "0");
  return `g${number(generation, 4)}-${number(from, 15)}-${number(to, 15)}.zst`;
}

export function placeOfName(name: string): { generation: number; from: number; to: number } | undefined {
  const [, generation, from, to] = /^g(\d{4})-(\d{15})-(\d{15})\.zst$/.exec(name) ?? [];
  return generation === undefined ? undefined : { generation: Number(generation), from: Number(from), to: Number(to) };
}

export function writeSegment(folder: string, head: Omit<SegmentHead, "v" | "sha256">, bytes: Buffer): void {
  const full: SegmentHead = { v: 1, ...head, sha256: createHash("sha256").update(bytes).digest("hex") };
  const packed = zstdCompressSync(bytes);
  const target = join(folder, segmentName(head));
  const staged = join(folder, `.${randomBytes(6).toString("hex")}`);
  try {
    const fd = openSync(staged, "wx", 0o600);
    try {
      const whole = Buffer.concat([Buffer.from(`${JSON.stringify(full)}\n`), packed]);
      for (let at = 0; at < whole.length;) at += writeSync(fd, whole, at, whole.length - at);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(staged, target);
    syncFolder(folder);
  } catch (error) {
    rmSync(staged, { force: true });
    throw error;
  }
}

export function readHead(path: string): SegmentHead {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(longestHead);
    const count = readSync(fd, bytes, 0, longestHead, 0);
    return parseHead(bytes.subarray(0, count), path);
  } finally {
    closeSync(fd);
  }
}

/** Reads the uncompressed bytes. Throws if their hash is wrong. */
export function readSegment(path: string): { readonly head: SegmentHead; readonly bytes: Buffer } {
  const whole = readFileSync(path);
  const head = parseHead(whole.subarray(0, longestHead), path);
  const bytes = zstdDecompressSync(whole.subarray(whole.indexOf(0x0a) + 1));
  if (createHash("sha256").update(bytes).digest("hex") !== head.sha256) throw new ArchiveDamageError(path);
  return { head, bytes };
}

function parseHead(bytes: Buffer, path: string): SegmentHead {
  const end = bytes.indexOf(0x0a);
  try {
    const head = JSON.parse(bytes.toString("utf8", 0, end)) as SegmentHead;
    if (head.v === 1 && Number.isInteger(head.from) && Number.isInteger(head.to)) return head;
  } catch {
    // The line is not JSON. The error below reports it.
  }
  throw new ArchiveDamageError(path);
}

/** A piece of the archive has changed since it was written. */
class ArchiveDamageError extends Error {
  override readonly name = "ArchiveDamageError";
  readonly path: string;
  constructor(path: string) {
    super(`${basename(dirname(path))}/${basename(path)} in the archive is damaged.`);
    this.path = path;
  }
}
