import { type SessionTables, type Stretch, type StretchLimit, applyChanges, withPlaces, project } from "@skein/core";
import { type Event, KnownError, type NewEvent } from "@skein/protocol";
import { readBytes } from "./durable-files.ts";
import { type Line, isTorn, linesOf, withChecksum, checkedObject } from "./checksum-lines.ts";
import { type DocumentState, advance, newDocumentState } from "./document-state.ts";

/** An idempotency key in the log. It applies to the events in its line. */
interface LineKey {
  readonly tenant: string | null;
  readonly id: string;
  readonly fingerprint: string;
}

/**
 * The part of a session's head that must survive a restart: the fence (the number of a lease, which only grows) and the
 * time at which the session is due. Leases need not survive, because their holders end with the process.
 */
export interface LineHead {
  readonly fence: number;
  readonly due_at: number | null;
}

/** One line of `log/{session}.jsonl`. It stores an append, or only a new head without events. */
interface LogLine {
  /** The sequence of the first event. A line without events has the sequence of the next event. */
  readonly sequence: number;
  readonly created_at: string;
  readonly events: readonly NewEvent[];
  readonly head: LineHead;
  readonly key?: LineKey;
}

/** Returns the bytes of a line. A body is the JSON text of an event's data. */
export function logLine(
  line: Omit<LogLine, "events"> & {
    readonly events: readonly { readonly id: string; readonly event_type: string; readonly body: string }[];
  },
): Buffer {
  const { sequence, created_at, events, head, key } = line;
  const written = events.map(
    ({ id, event_type, body }) =>
      `{"id":${JSON.stringify(id)},"event_type":${JSON.stringify(event_type)},"data":${body}}`,
  );
  const start = JSON.stringify({ sequence, created_at }).slice(0, -1);
  const end = JSON.stringify({ head, ...(key && { key }) }).slice(1);
  return withChecksum(`${start},"events":[${written.join(",")}],${end}`);
}

/** A log in memory. It has the derived data and the positions of the lines on disk, but no event bodies. */
export interface LoadedLog {
  tables: SessionTables;
  readonly documentState: DocumentState;
  /** The sequence of each event by its id, to recognise a repeated append. */
  readonly ids: Map<string, number>;
  /** For each line, its first sequence (`firsts`) and its position in the file (`offsets`). */
  readonly firsts: number[];
  readonly offsets: number[];
}

export interface KeptKey extends LineKey {
  readonly first: number;
  readonly last: number;
}

/** The content of a log file, up to the first damage. */
export interface LogContents {
  /** Undefined if no event can be read. */
  readonly log: LoadedLog | undefined;
  readonly last: number;
  readonly head: LineHead;
  readonly keys: readonly KeptKey[];
  /** The file is valid up to this position. Without `damage`, the bytes after it were never acknowledged. */
  readonly bytes: number;
  readonly size: number;
  /** The error of the first damaged line. An unfinished last line is not damage. */
  readonly damage: KnownError | undefined;
}

/** Parses a whole log file. The caller cuts off an unfinished last line. */
export function parsedLog(bytes: Buffer, name: string, sessionId: string): LogContents {
  let log: LoadedLog | undefined;
  let last = 0;
  let good = 0;
  let head: LineHead = { fence: 0, due_at: null };
  const keys: KeptKey[] = [];
  const answer = (damage?: KnownError): LogContents => ({
    log,
    last,
    head,
    keys,
    bytes: good,
    size: bytes.length,
    damage,
  });

  let number = 0;
  for (const line of linesOf(bytes)) {
    number += 1;
    const parsed = line.whole ? parsedLine(line) : undefined;
    if (!parsed && isTorn(line, bytes)) return answer();
    if (parsed?.sequence !== last + 1) return answer(damagedLine(name, number));
    const events = eventsOf(parsed, sessionId);
    if (events.length > 0) log = grown(log, events);
    if (!log) return answer(damagedLine(name, number));
    log.firsts.push(parsed.sequence);
    log.offsets.push(line.offset);
    last += events.length;
    head = parsed.head;
    if (parsed.key) keys.push({ ...parsed.key, first: parsed.sequence, last });
    good = line.offset + line.text.length + 1;
  }
  return answer();
}

/** Adds new events to the data that is derived from a log. */
export function grown(log: LoadedLog | undefined, events: readonly Event[], changes = project(events)): LoadedLog {
  const tables = applyChanges(log?.tables, changes);
  const target = log ?? {
    tables,
    documentState: newDocumentState(tables.session.id),
    ids: new Map(),
    firsts: [],
    offsets: [],
  };
  for (const event of events) target.ids.set(event.id, event.sequence);
  advance(target.documentState, events);
  return target;
}

/** A range of events of one log. */
export interface StretchOfLog {
  readonly path: string;
  readonly name: string;
  readonly sessionId: string;
  /** The end of the acknowledged part of the file. */
  readonly bytes: number;
  readonly last: number;
  readonly after: number;
  readonly most: StretchLimit;
}

/** Reads a range of events from disk. Only the lines of this range are read. */
export async function readStretch(log: LoadedLog, stretch: StretchOfLog): Promise<Stretch> {
  const { path, name, sessionId, bytes, last, after, most } = stretch;
  const asked = Math.min(last, after + most.events);
  if (asked <= after) return { events: [], full: false };
  const firstLine = lineWith(log.firsts, after + 1);
  const until = Math.min(asked, lastWithin(log, firstLine, most.bytes));
  const lastLine = lineWith(log.firsts, until);
  const from = log.offsets[firstLine] ?? 0;
  const part = await readBytes(path, from, log.offsets[lastLine + 1] ?? bytes);
  const events: Event[] = [];
  let number = firstLine;
  for (const line of linesOf(part)) {
    number += 1;
    const parsed = line.whole ? parsedLine(line) : undefined;
    if (!parsed) throw damagedLine(name, number);
    for (const event of eventsOf(parsed, sessionId))
      if (event.sequence > after && event.sequence <= until) events.push(event);
  }
  if (events.length !== until - after) throw damagedLine(name, number);
  return { events, full: until < last };
}

/**
 * Finds the lines that begin within `bytes` bytes after the start of `firstLine`. Returns the sequence of their last
 * event.
 */
function lastWithin({ firsts, offsets }: LoadedLog, firstLine: number, bytes: number): number {
  const full = (offsets[firstLine] ?? 0) + bytes;
  let next = firstLine + 1;
  while (next < firsts.length && (offsets[next] ?? 0) < full) next += 1;
  return (firsts[next] ?? Number.POSITIVE_INFINITY) - 1;
}

/** Returns the index of the last line that begins at or before this sequence. */
function lineWith(firsts: readonly number[], sequence: number): number {
  let [low, high] = [0, firsts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((firsts[middle] ?? 0) <= sequence) low = middle;
    else high = middle - 1;
  }
  return low;
}

function parsedLine({ text }: Line): LogLine | undefined {
  return checkedObject(text) as LogLine | undefined;
}

function eventsOf({ sequence, created_at, events }: LogLine, sessionId: string): readonly Event[] {
  return withPlaces(sessionId, events, { first: sequence, createdAt: created_at });
}

export function damagedLine(name: string, number: number): KnownError {
  return new KnownError("store_corrupt", `${name}, line ${number} is damaged: its checksum does not match.`, {
    details: { file: name, line: number },
  });
}
