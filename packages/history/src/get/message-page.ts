/**
 * Messages of a transcript of any size, page by page. Only the bytes around the page are read, so a transcript of 300
 * MB is opened as fast as a short one.
 */
import { closeSync, fstatSync, readSync } from "node:fs";
import type { LibraryConfig } from "../config.ts";
import { SessionNotFoundError } from "../errors.ts";
import { withStore } from "../facets/with-store.ts";
import type { DataFile } from "../model/data-file.ts";
import type { FileDamage, Message } from "../model/types.ts";
import type { ParsedLine } from "../scan/parse-line.ts";
import { openPlainFile } from "../scan/read-file.ts";
import { readLines } from "../scan/read-lines.ts";
import { agentsBySession } from "../sources/claude-code/agents/agent-files.ts";
import { createMessageBuilder } from "../sources/claude-code/transcript/to-message.ts";
import { findSession } from "./get-session.ts";

export interface MessagePageOptions extends LibraryConfig {
  /** The subagent whose transcript is read. Default: the transcript of the session. */
  readonly agentId?: string;
  /**
   * Only messages that begin before this position in the file. Without `before` and `from`, the page has the last
   * messages.
   */
  readonly before?: number;
  /** Only messages that begin at this position in the file or after it. */
  readonly from?: number;
}

/** A message with the position of its first line in the file. */
export type PlacedMessage = Message & { readonly offset: number; readonly length: number };

export interface MessagePage {
  readonly path: string;
  readonly messages: readonly PlacedMessage[];
  /** The positions at which the page begins and ends. The previous page is `before: start`, the next is `from: end`. */
  readonly start: number;
  readonly end: number;
  readonly sizeBytes: number;
  readonly damage: readonly FileDamage[];
}

/** At this size, a page gets no more lines, even if it has fewer than `limit`. The page may be a few MiB larger. */
const pageBytes = 4 * 1024 * 1024;
/** A longer line is not parsed. The page reports it as damage. */
const maxLineBytes = 64 * 1024 * 1024;
const LF = 0x0a;

/** Reads a page of messages of a session or subagent, in the order of the file. */
export async function getMessagePage(idOrIndex: number | string, options: MessagePageOptions): Promise<MessagePage> {
  return await withStore(options, async (store) => {
    const { file, order } = await findSession(idOrIndex, options, store);
    const agents = agentsBySession(order.discovered.files, [file]).get(file) ?? [];
    return readMessagePage(fileOf(file, agents, options.agentId), options);
  });
}

export function fileOf(file: DataFile, agents: readonly DataFile[], agentId: string | undefined): DataFile {
  if (agentId === undefined) return file;
  const wanted = agentId.replace(/^agent-/, "");
  const found = agents.find((agent) => agent.agentId === wanted);
  if (!found) throw new SessionNotFoundError(agentId, "The session has no subagent with this id");
  return found;
}

function readMessagePage(
  file: DataFile,
  { before, from, limit = 100 }: Pick<MessagePageOptions, "before" | "from" | "limit">,
): MessagePage {
  const fd = openPlainFile(file.path);
  let range: Range;
  let sizeBytes: number;
  try {
    sizeBytes = fstatSync(fd).size;
    range =
      from === undefined
        ? rangeBefore(fd, Math.min(before ?? sizeBytes, sizeBytes), limit)
        : rangeFrom(fd, { from: Math.min(from, sizeBytes), size: sizeBytes, limit });
  } finally {
    closeSync(fd);
  }
  const messages: PlacedMessage[] = [];
  const damage: FileDamage[] = [];
  const builder = createMessageBuilder(new Date(file.mtimeMs));
  const add = (line: ParsedLine): void => {
    const message = builder.add(line);
    if (!message) return;
    const { offset, length } = line;
    // In the middle of a file, line numbers are not known, so the position identifies a line.
    const uuid = message.uuid.startsWith("line:") ? `line:${offset}` : message.uuid;
    messages.push(Object.assign(message, { uuid, offset, length }));
  };
  readLines(
    file.path,
    { line: add, damage: (found) => damage.push({ path: file.path, ...found }) },
    { from: range.start, until: range.end, maxLineBytes },
  );
  return { path: file.path, messages, ...range, sizeBytes, damage };
}

/** The position of one or more whole lines in the file. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** Finds the last lines before a position. Reads backwards until it has enough lines or enough bytes. */
function rangeBefore(fd: number, end: number, limit: number): Range {
  let bytes = Buffer.alloc(0);
  let start = end;
  for (let step = 256 * 1024; ; step *= 2) {
    const size = Math.min(step, start);
    const piece = Buffer.allocUnsafe(size);
    start -= size;
    readSync(fd, piece, 0, size, start);
    bytes = Buffer.concat([piece, bytes]);
    const starts = lineStarts(bytes, start === 0);
    const isEnough = starts.length >= limit || (starts.length > 0 && bytes.length >= pageBytes);
    if (!isEnough && start > 0 && bytes.length <= maxLineBytes) continue;
    return { start: start + (starts.at(-limit) ?? starts[0] ?? 0), end };
  }
}

/**
 * Finds the positions at which lines begin. Position 0 is such a position only if the bytes are the beginning of the
 * file.
 */
function lineStarts(bytes: Buffer, isBeginning: boolean): readonly number[] {
  const starts = isBeginning && bytes.length > 0 ? [0] : [];
  for (let at = bytes.indexOf(LF); at >= 0 && at < bytes.length - 1; at = bytes.indexOf(LF, at + 1))
    starts.push(at + 1);
  return starts;
}

/** Finds the first lines after a position. */
function rangeFrom(fd: number, { from, size, limit }: { from: number; size: number; limit: number }): Range {
  let end = from;
  let count = 0;
  const piece = Buffer.allocUnsafe(256 * 1024);
  for (let position = from; position < size;) {
    const read = readSync(fd, piece, 0, piece.length, position);
    if (read === 0) break;
    const bytes = piece.subarray(0, read);
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
      end = position + at + 1;
      count += 1;
      if (count >= limit || end - from >= pageBytes) return { start: from, end };
    }
    position += read;
    if (position - from > maxLineBytes && end === from) return { start: from, end: position };
  }
  // The last line may have no line feed, because it is still being written. This line is read too.
  return { start: from, end: size };
}
