import {
  type Await,
  type Checkpoint,
  type CostBreakdown,
  type MessageRow,
  NO_USAGE,
  type Run,
  type Session,
} from "@skein/protocol";
import { duplicateCheckpoint } from "../log/append-rules.ts";
import {
  COUNTERS,
  type Counters,
  RUN_COUNTERS,
  type RunCounters,
  costTotals,
  dollarParts,
  modelTotals,
  noCounters,
  noRunCounters,
  usageTotals,
} from "../log/counters.ts";
import { type Changes, type FileRow, type MessageInsert, type RunUpdate, messageRow } from "../log/row-changes.ts";
import type { Page, PageOptions, SessionSummary, TextPlace } from "../ports/store.ts";
import { summaryOf } from "../sessions/session-summary.ts";
import { MOST_PLACES, jsonAround } from "../sessions/text-search.ts";

const DEFAULT_LIMIT = 50;

/** The projections of one session, as rows in memory. */
export interface SessionTables {
  session: Session;
  /** The sums of the session's usage and cost. */
  readonly counters: Counters;
  readonly runs: RunTable[];
  readonly messages: MessageInsert[];
  /** Messages that have not entered the transcript: the indexes of their rows in `messages`, by message id. */
  readonly waiting: Map<string, number[]>;
  messageCount: number;
  readonly awaits: Await[];
  readonly checkpoints: Checkpoint[];
  readonly files: FileRow[];
}

/** A run, with the sums of its usage and cost. */
interface RunTable {
  run: Run;
  readonly counters: RunCounters;
  readonly models: Map<string, Counters & { readonly model: string }>;
  model: string;
  longContext: boolean;
}

/** Rejects a second checkpoint for a user message, before any row is changed. */
export function checkChanges(tables: SessionTables | undefined, changes: Changes): void {
  const taken = new Set(tables?.checkpoints.map(({ user_message_uuid }) => user_message_uuid));
  for (const { user_message_uuid } of changes.checkpointInserts) {
    if (taken.has(user_message_uuid)) throw duplicateCheckpoint(user_message_uuid);
    taken.add(user_message_uuid);
  }
}

/** Applies the row operations of an append. `tables` is undefined if the append creates the session. */
export function applyChanges(tables: SessionTables | undefined, changes: Changes): SessionTables {
  const target = tables ?? newTables(changes);
  const session: Session = { ...target.session, ...changes.sessionSet, ...added(target, changes) };
  target.session = session;
  for (const columns of changes.runInserts)
    target.runs.push({
      run: newRun(columns, target.runs.length + 1),
      counters: noRunCounters(),
      models: new Map(),
      model: columns.model,
      longContext: false,
    });
  session.total_runs = target.runs.length;
  for (const update of changes.runUpdates) updateRun(target, update);
  applyMessages(target, changes);
  target.awaits.push(...changes.awaitInserts);
  for (const { tool_use_id, closed_at, resolution } of changes.awaitCloses) {
    const index = target.awaits.findIndex((open) => open.tool_use_id === tool_use_id && open.closed_at === null);
    const open = target.awaits[index];
    if (open) target.awaits[index] = { ...open, closed_at, resolution };
  }
  target.checkpoints.push(...changes.checkpointInserts);
  for (const file of changes.fileInserts) {
    target.files.push(file);
    const { session_id: _session, run_id, created_at: timestamp, ...shown } = file;
    target.runs.find(({ run }) => run.id === run_id)?.run.generated_files.push({ ...shown, timestamp });
  }
  return target;
}

/** Makes the row of a new run. */
export function newRun({ model: _, ...columns }: Changes["runInserts"][number], number: number): Run {
  return {
    ...columns,
    number,
    usage: NO_USAGE,
    cost: null,
    ...costTotals(noCounters()),
    reserved_micros: 0,
    models: [],
    generated_files: [],
  };
}

function applyMessages(target: SessionTables, changes: Changes): void {
  const base = target.messageCount;
  for (const row of changes.messageInserts) {
    const places = target.waiting.get(row.messageId) ?? [];
    if (row.number === null) target.waiting.set(row.messageId, [...places, target.messages.length]);
    target.messages.push({ ...row, number: row.number === null ? null : row.number + base });
  }
  for (const { messageId, runId, first } of changes.messageEntries) {
    for (const place of target.waiting.get(messageId) ?? []) {
      const row = target.messages[place];
      if (row) target.messages[place] = { ...row, runId, number: base + first + row.part };
    }
    target.waiting.delete(messageId);
  }
  target.messageCount += changes.messagesEntered;
}

export function pageOfMessages(
  tables: SessionTables,
  { cursor, limit = DEFAULT_LIMIT }: PageOptions,
): Page<MessageRow> {
  const after = cursor === undefined ? 0 : Number(cursor);
  const rows = tables.messages
    .filter((row): row is MessageInsert & { number: number } => row.number !== null && row.number > after)
    .sort((a, b) => a.number - b.number);
  const items = rows.slice(0, limit).map((row) => messageRow(row, tables.session.id));
  return { items, cursor: items.length < rows.length ? String(items.at(-1)?.sequence) : null };
}

export function summaryOfTables({ session, messages, awaits }: SessionTables): SessionSummary {
  const shown = messages
    .filter((row): row is MessageInsert & { number: number } => row.number !== null)
    .sort((a, b) => a.number - b.number)
    .map((row) => messageRow(row, session.id));
  return summaryOf({ session, messages: shown, awaits });
}

/** Returns the last messages that contain a text. */
export function placesIn({ session, messages }: SessionTables, text: string): readonly TextPlace[] {
  const places: TextPlace[] = [];
  const numbered = messages.filter(({ number }) => number !== null);
  for (const { role, sequence, createdAt, content } of numbered.sort((a, b) => Number(b.number) - Number(a.number))) {
    const json = jsonAround(JSON.stringify(content), text);
    if (json !== undefined) places.push({ sessionId: session.id, role, sequence, created_at: createdAt, json });
    if (places.length === MOST_PLACES) break;
  }
  return places;
}

export function pageOfRuns(tables: SessionTables, { cursor, limit = DEFAULT_LIMIT }: PageOptions): Page<Run> {
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : Number(cursor);
  const runs = tables.runs
    .map(({ run }) => run)
    .filter(({ number }) => number < before)
    .toReversed();
  const items = runs.slice(0, limit);
  return { items, cursor: items.length < runs.length ? String(items.at(-1)?.number) : null };
}

function newTables({ sessionInsert }: Changes): SessionTables {
  if (!sessionInsert) throw new Error("The first append of a session begins with session.created.");
  const session: Session = {
    ...sessionInsert,
    total_runs: 0,
    total_turns: 0,
    ...costTotals(noCounters()),
    usage: NO_USAGE,
  };
  return {
    session,
    counters: noCounters(),
    runs: [],
    messages: [],
    waiting: new Map(),
    messageCount: 0,
    awaits: [],
    checkpoints: [],
    files: [],
  };
}

function added({ session, counters }: SessionTables, { sessionAdd }: Changes): Partial<Session> {
  for (const key of COUNTERS) counters[key] += sessionAdd[key];
  return {
    total_turns: session.total_turns + sessionAdd.total_turns,
    ...costTotals(counters),
    usage: usageTotals(counters),
  };
}

function updateRun(tables: SessionTables, { id, set, add, models }: RunUpdate): void {
  const table = tables.runs.findLast(({ run }) => run.id === id);
  if (!table) return;
  const { model, long_context_applied, ...columns } = set;
  if (model !== undefined) table.model = model;
  if (long_context_applied) table.longContext = true;
  for (const key of RUN_COUNTERS) table.counters[key] += add[key];
  for (const one of models) {
    const known = table.models.get(one.model);
    if (!known) table.models.set(one.model, { ...one });
    else for (const key of COUNTERS) known[key] += one[key];
  }
  table.run = {
    ...table.run,
    ...columns,
    usage: usageTotals(table.counters),
    cost: costBreakdown(table.counters, table.model, table.longContext),
    ...costTotals(table.counters),
    models: [...table.models.values()].sort((a, b) => (a.model < b.model ? -1 : 1)).map(modelTotals),
  };
}

/**
 * Returns the cost of a run for the agent tables, in dollars for display. It is calculated from exact amounts. Null if
 * any call had no price.
 */
export function costBreakdown(counters: RunCounters, model: string, longContext: boolean): CostBreakdown | null {
  if (counters.unpriced_calls > 0 || model === "") return null;
  return {
    ...dollarParts(counters),
    total_input_tokens: counters.input_tokens + counters.cache_creation_input_tokens + counters.cache_read_input_tokens,
    total_output_tokens: counters.output_tokens,
    total_cache_creation_tokens: counters.cache_creation_input_tokens,
    total_cache_read_tokens: counters.cache_read_input_tokens,
    model_id: model,
    long_context_applied: longContext,
    currency: "USD",
  };
}
