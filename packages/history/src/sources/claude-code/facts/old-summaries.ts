/**
 * Summaries of old versions. They were written wherever there was room, often at the beginning of the next session, and
 * `leafUuid` says whose they are: those of the session that has this message.
 */
import type { DataFile } from "../../../model/data-file.ts";
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

/** Takes the summaries whose message is among these lines. */
export function settleSummaries(state: Summaries, lines: Buffer): void {
  const open = state.openSummaries.filter(({ leafUuid, summary }) => {
    if (!hasMessage(lines, leafUuid)) return true;
    state.summary = summary;
    return false;
  });
  state.openSummaries.splice(0, state.openSummaries.length, ...open);
}

/** The summary of a session, if need be by looking for its message in lines that were read before the summary was. */
export function summaryOfFile(file: DataFile, facts: Summaries): string | null {
  if (facts.summary !== null || facts.openSummaries.length === 0) return facts.summary;
  const found = { summary: null, openSummaries: [...facts.openSummaries] };
  try {
    readFile(file.path, {}, ({ bytes, start, end }) => settleSummaries(found, bytes.subarray(start, end)));
  } catch {
    // Gone in the meantime: then there is no summary either.
  }
  return found.summary;
}

/** In JSON as it is written: a quote inside of text would be escaped. */
function hasMessage(lines: Buffer, uuid: string): boolean {
  return lines.includes(`"uuid":${JSON.stringify(uuid)}`);
}
