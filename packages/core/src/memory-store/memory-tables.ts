import {
  type Await,
  type Checkpoint,
  type CostBreakdown,
  type MessageRow,
  NO_USAGE,
  type Run,
  type RunModel,
  type Session,
} from "@skein/protocol";
import { duplicateCheckpoint } from "../log/append-rules.ts";
import { COUNTERS, type Counters, type RunCounters, noRunCounters } from "../log/counters.ts";
import { messageRow } from "../log/projection.ts";
import type { Changes, FileRow, MessageInsert, RunUpdate } from "../log/row-changes.ts";
import type { Page, PageOptions, SessionSummary } from "../ports/store.ts";
import { summaryOf } from "../sessions/session-summary.ts";

const DEFAULT_LIMIT = 50;

/** What is derived from one session's log, kept as rows in memory. */
export interface SessionTables {
  session: Session;
  readonly runs: RunTable[];
  readonly messages: MessageInsert[];
  /** Where in `messages` the rows of a message stand that has not entered the transcript. */
  readonly waiting: Map<string, number[]>;
  messageCount: number;
  readonly awaits: Await[];
  readonly checkpoints: Checkpoint[];
  readonly files: FileRow[];
}

/** A run, with what its cost is added up from. */
interface RunTable {
  run: Run;
  counters: RunCounters;
  model: string;
  longContext: boolean;
}

/** Refuses changes that break a rule between rows, before anything is changed. */
export function checkChanges(tables: SessionTables | undefined, changes: Changes): void {
  const taken = new Set(tables?.checkpoints.map(({ user_message_uuid }) => user_message_uuid));
  for (const { user_message_uuid } of changes.checkpointInserts) {
    if (taken.has(user_message_uuid)) throw duplicateCheckpoint(user_message_uuid);
    taken.add(user_message_uuid);
  }
}

/** Applies the row operations of one append. `tables` is undefined for a session that begins with it. */
export function applyChanges(tables: SessionTables | undefined, changes: Changes): SessionTables {
  const target = tables ?? newTables(changes);
  const session: Session = { ...target.session, ...changes.sessionSet, ...addedTo(target.session, changes) };
  target.session = session;
  for (const columns of changes.runInserts)
    target.runs.push({
      run: newRun(columns, target.runs.length + 1),
      counters: noRunCounters(),
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

/** A run that has used nothing yet. */
export function newRun({ model: _, ...columns }: Changes["runInserts"][number], number: number): Run {
  return {
    ...columns,
    number,
    usage: NO_USAGE,
    cost: null,
    cost_micros: 0,
    unpriced_calls: 0,
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
    cost_micros: 0,
    unpriced_calls: 0,
    usage: NO_USAGE,
  };
  return {
    session,
    runs: [],
    messages: [],
    waiting: new Map(),
    messageCount: 0,
    awaits: [],
    checkpoints: [],
    files: [],
  };
}

function addedTo(session: Session, { sessionAdd }: Changes): Partial<Session> {
  return {
    total_turns: session.total_turns + sessionAdd.total_turns,
    cost_micros: session.cost_micros + sessionAdd.cost_micros,
    unpriced_calls: session.unpriced_calls + sessionAdd.unpriced_calls,
    usage: addCounters(session.usage, sessionAdd),
  };
}

function updateRun(tables: SessionTables, { id, set, add, models }: RunUpdate): void {
  const table = tables.runs.findLast(({ run }) => run.id === id);
  if (!table) return;
  const { model, long_context_applied, ...columns } = set;
  if (model !== undefined) table.model = model;
  if (long_context_applied) table.longContext = true;
  for (const key of Object.keys(add) as (keyof RunCounters)[]) table.counters[key] += add[key];
  table.run = {
    ...table.run,
    ...columns,
    usage: addCounters(table.run.usage, add),
    cost: costBreakdown(table.counters, table.model, table.longContext),
    cost_micros: table.counters.cost_micros,
    unpriced_calls: table.counters.unpriced_calls,
    models: addModels(table.run.models, models),
  };
}

function addModels(before: readonly RunModel[], added: RunUpdate["models"]): RunModel[] {
  const models = new Map(before.map((one) => [one.model, { ...one }]));
  for (const one of added) {
    const known = models.get(one.model);
    if (!known) models.set(one.model, { ...one });
    else for (const key of COUNTERS) known[key] += one[key];
  }
  return [...models.values()].sort((a, b) => (a.model < b.model ? -1 : 1));
}

/** The cost of a run in the agent tables: dollars for people, from the micro-dollars that were added up. Null if any call had no price. */
export function costBreakdown(counters: RunCounters, model: string, longContext: boolean): CostBreakdown | null {
  if (counters.unpriced_calls > 0 || model === "") return null;
  return {
    input_cost: counters.input_micros / 1e6,
    output_cost: counters.output_micros / 1e6,
    cache_write_cost: counters.cache_write_micros / 1e6,
    cache_read_cost: counters.cache_read_micros / 1e6,
    total_cost: counters.cost_micros / 1e6,
    total_input_tokens: counters.input_tokens + counters.cache_creation_input_tokens + counters.cache_read_input_tokens,
    total_output_tokens: counters.output_tokens,
    total_cache_creation_tokens: counters.cache_creation_input_tokens,
    total_cache_read_tokens: counters.cache_read_input_tokens,
    model_id: model,
    long_context_applied: longContext,
    currency: "USD",
  };
}

function addCounters(usage: Session["usage"], add: Counters): Session["usage"] {
  return {
    input_tokens: usage.input_tokens + add.input_tokens,
    output_tokens: usage.output_tokens + add.output_tokens,
    cache_creation_input_tokens: usage.cache_creation_input_tokens + add.cache_creation_input_tokens,
    cache_read_input_tokens: usage.cache_read_input_tokens + add.cache_read_input_tokens,
  };
}
