import { transcriptAppended } from "@skein/core";
import { type Event, type Fact, type FactData, type JsonObject, KnownError } from "@skein/protocol";
import { BACKUPS } from "../transcript.ts";

/** A line of a Claude Code transcript. `entry` is null if the text is not valid. */
export interface TranscriptLine {
  readonly text: string;
  readonly entry: JsonObject | null;
}

/**
 * The path of long tool outputs in the log. It is below `BACKUPS`, so the runtime never treats an output as a
 * transcript.
 */
export const TOOL_RESULTS = `${BACKUPS}tool-results/`;

/** Returns the lines of a file. Rejects bytes that are not UTF-8, because they could not be exported unchanged. */
export function linesOfFile(bytes: Uint8Array, name: string): readonly TranscriptLine[] {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new KnownError(
      "invalid",
      `${name} is not UTF-8 and could not be exported unchanged. "skein history verify" names the lines.`,
    );
  }
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => ({ text: line, entry: entryOf(line) }));
}

function entryOf(line: string): JsonObject | null {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}

/** Returns a fact with these lines. The lines can be restored byte for byte. */
export function linesFact(lines: readonly TranscriptLine[], subpath: string | null): Fact {
  const entries: JsonObject[] = [];
  const odd: NonNullable<FactData<"transcript.appended">["odd_lines"]> = [];
  for (const { text, entry } of lines) {
    if (!entry) odd.push({ at: entries.length, text, is_entry: false });
    else if (JSON.stringify(entry) !== text) odd.push({ at: entries.length, text, is_entry: true });
    if (entry) entries.push(entry);
  }
  return transcriptAppended(entries, subpath, odd);
}

/**
 * Returns the lines of a session's transcripts. The key null is the transcript of the session. Other keys are the paths
 * of subagents, long outputs and file copies. A title from Skein becomes a line at its place in the log, so that a
 * later export only adds lines.
 */
export function linesOfEvents(events: readonly Event[]): ReadonlyMap<string | null, readonly string[]> {
  const transcripts = new Map<string | null, string[]>();
  const simulated = simulatedRuns(events);
  let runId = "";
  let firstTitle: readonly string[] = [];
  for (const event of events) {
    const title = titleOf(event);
    if (title !== undefined) {
      const line = JSON.stringify({ type: "custom-title", customTitle: title ?? "", sessionId: event.session_id });
      const own = transcripts.get(null);
      if (own) own.push(line);
      else firstTitle = [line];
    }
    if (event.event_type === "session.started") runId = event.data.run_id;
    if (event.event_type !== "transcript.appended") continue;
    const { subpath } = event.data;
    const lines = transcripts.get(subpath) ?? (subpath === null ? [...firstTitle] : []);
    const more = linesOfFact(event.data);
    lines.push(...(simulated.has(runId) ? more.map(withoutTokens) : more));
    transcripts.set(subpath, lines);
  }
  return transcripts;
}

/** Returns the title from an event, if the session's lines do not contain it. */
function titleOf(event: Event): string | null | undefined {
  if (event.event_type === "session.edited" || event.event_type === "title.generated") return event.data.title;
  if (event.event_type !== "session.created") return undefined;
  const { title, parent, metadata } = event.data;
  // The lines of an adopted session or a fork contain this title, or Claude Code derives it from them.
  return parent === null && metadata["claude_code"] === undefined ? (title ?? undefined) : undefined;
}

function simulatedRuns(events: readonly Event[]): ReadonlySet<string> {
  const runs = events.flatMap((event) =>
    event.event_type === "step.generated" && event.data.simulated ? [event.data.run_id] : [],
  );
  return new Set(runs);
}

/** Removes the tokens from the line of a simulated answer. In Claude Code's files, they would look like spending. */
function withoutTokens(line: string): string {
  const entry = line.includes('"usage":') ? entryOf(line) : null;
  const message = entry?.["message"];
  if (entry?.["type"] !== "assistant" || typeof message !== "object" || message === null) return line;
  return JSON.stringify({ ...entry, message: { ...message, usage: NO_TOKENS } });
}

/** Replaces the usage of an answer that the named model did not write. */
export const NO_TOKENS = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

function linesOfFact({ entries, odd_lines = [] }: FactData<"transcript.appended">): readonly string[] {
  const lines: string[] = [];
  for (let at = 0; at <= entries.length; at += 1) {
    const odd = odd_lines.filter((line) => line.at === at);
    lines.push(...odd.filter(({ is_entry }) => !is_entry).map(({ text }) => text));
    if (at < entries.length) lines.push(odd.find(({ is_entry }) => is_entry)?.text ?? JSON.stringify(entries[at]));
  }
  return lines;
}
