/**
 * Summary lines of old versions of Claude Code. Often such a line is in the file of the next session. The summary
 * belongs to the session with the message `leafUuid`.
 */
import type { DataFile } from "../../../model/data-file.ts";
import { endOfKeyBefore } from "../../../scan/json-scan.ts";
import { readFile } from "../../../scan/read-file.ts";

interface OpenSummary {
  readonly leafUuid: string;
  readonly summary: string;
}

export interface Summaries {
  /** The last summary of this conversation. Old versions also wrote summaries of other conversations into the file. */
  summary: string | null;
  /** Summaries whose last message has not been found in this file yet. */
  openSummaries: OpenSummary[];
}

const maxOpen = 50;

export function noteSummary(state: Summaries, line: Readonly<Record<string, unknown>>): void {
  const { summary, leafUuid } = line;
  if (typeof summary !== "string" || summary === "") return;
  if (typeof leafUuid !== "string") {
    state.summary = summary;
    return;
  }
  state.openSummaries.push({ leafUuid, summary });
  if (state.openSummaries.length > maxOpen) state.openSummaries.shift();
}

/** Makes an open summary the session's summary if its message is in these lines. */
export function settleSummaries(state: Summaries, lines: Buffer): void {
  const open = state.openSummaries.filter(({ leafUuid, summary }) => {
    if (!hasMessage(lines, leafUuid)) return true;
    state.summary = summary;
    return false;
  });
  state.openSummaries.splice(0, state.openSummaries.length, ...open);
}

/** Returns the summary of a session. Reads the file again if a summary's message may be before the summary. */
export function summaryOfFile(file: DataFile, details: Summaries): string | null {
  if (details.summary !== null || details.openSummaries.length === 0) return details.summary;
  const found = { summary: null, openSummaries: [...details.openSummaries] };
  try {
    readFile(file.path, {}, ({ bytes, start, end }) => settleSummaries(found, bytes.subarray(start, end)));
  } catch {
    // The file no longer exists.
  }
  return found.summary;
}

const uuidKey = Buffer.from('"uuid"');

/** Searches for JSON bytes. A text cannot contain these bytes, because its quotes are escaped. */
function hasMessage(lines: Buffer, uuid: string): boolean {
  const id = Buffer.from(JSON.stringify(uuid));
  for (let at = lines.indexOf(id); at >= 0; at = lines.indexOf(id, at + 1)) {
    // The next message has the same id as its parent's.
    const keyEnd = endOfKeyBefore(lines, at);
    if (keyEnd >= uuidKey.length && lines.subarray(keyEnd - uuidKey.length, keyEnd).equals(uuidKey)) return true;
  }
  return false;
}
