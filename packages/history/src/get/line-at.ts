import { closeSync, readSync } from "node:fs";
import type { LibraryConfig } from "../config.ts";
import { withStore } from "../facets/with-store.ts";
import { openPlainFile } from "../scan/read-file.ts";
import { agentsBySession } from "../sources/claude-code/agents/agent-files.ts";
import { findSession } from "./get-session.ts";
import { fileOf } from "./message-page.ts";

export interface LineOptions extends LibraryConfig {
  /** Where the line begins in the file, in bytes. */
  readonly offset: number;
  /** If given, the line is read from the transcript of this subagent. */
  readonly agentId?: string;
  /** A longer line is cut at this length. */
  readonly maxBytes: number;
}

const LF = 0x0a;

/** Returns a line of a transcript without its line feed. Returns undefined if no line begins at `offset`. */
export async function readLineAt(
  idOrIndex: number | string,
  { offset, maxBytes, ...options }: LineOptions,
): Promise<Uint8Array | undefined> {
  return await withStore(options, async (store) => {
    const { file, order } = await findSession(idOrIndex, options, store);
    const agents = agentsBySession(order.discovered.files, [file]).get(file) ?? [];
    const fd = openPlainFile(fileOf(file, agents, options.agentId).path);
    try {
      return lineAt(fd, offset, maxBytes);
    } finally {
      closeSync(fd);
    }
  });
}

function lineAt(fd: number, offset: number, maxBytes: number): Uint8Array | undefined {
  const before = Buffer.alloc(1);
  if (offset > 0 && (readSync(fd, before, 0, 1, offset - 1) !== 1 || before[0] !== LF)) return undefined;
  const pieces: Buffer[] = [];
  for (let read = 0; read < maxBytes;) {
    const piece = Buffer.alloc(Math.min(1024 * 1024, maxBytes - read));
    const count = readSync(fd, piece, 0, piece.length, offset + read);
    const lineFeed = piece.subarray(0, count).indexOf(LF);
    pieces.push(piece.subarray(0, lineFeed < 0 ? count : lineFeed));
    if (lineFeed >= 0 || count === 0) break;
    read += count;
  }
  const line = Buffer.concat(pieces);
  return line.length === 0 ? undefined : line;
}
