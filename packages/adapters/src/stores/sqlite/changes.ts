import { COUNTERS, type Changes, type Counters, metadataPairs } from "@skein/core";
import type { JsonObject } from "@skein/protocol";
import type { SQLInputValue } from "node:sqlite";
import type { Database } from "./database.ts";
import { jsonValue } from "./json-value.ts";

/**
 * How many messages and runs a session had before an append. The numbers in the append's changes are relative to these
 * counts.
 */
export interface Base {
  readonly messages: number;
  readonly runs: number;
}

const INSERT_MESSAGE = `insert into messages
  (id, session_id, message_id, part, number, role, content, tool_call_id, run_id, sequence, created_at)
  values (?, ?, ?, ?, ?, ?, cast(? as text), ?, ?, ?, ?)`;

const ADD_MODEL = `insert into run_models (session_id, run_id, model, ${COUNTERS.join(", ")})
  values (?, ?, ?${", ?".repeat(COUNTERS.length)})
  on conflict do update set ${COUNTERS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;

/** Applies the row operations of one append, inside its transaction. */
export function applyChanges(db: Database, sessionId: string, changes: Changes, base: Base): void {
  if (changes.sessionInsert) insertSession(db, changes.sessionInsert, changes);
  else updateSession(db, sessionId, changes);
  const tags = changes.sessionSet.tags ?? changes.sessionInsert?.tags;
  if (tags) setTags(db, sessionId, tags);
  const metadata = changes.sessionSet.metadata ?? changes.sessionInsert?.metadata;
  if (metadata) setMetadata(db, sessionId, metadata);
  for (const [index, run] of changes.runInserts.entries())
    insert(db, "runs", { ...run, number: base.runs + index + 1 });
  for (const { id, set, add, models } of changes.runUpdates) {
    update(db, ["runs", id], set, add);
    for (const { model, ...used } of models)
      db.run(ADD_MODEL, sessionId, id, model, ...COUNTERS.map((name) => used[name]));
  }
  for (const row of changes.messageInserts) {
    const { value, free } = jsonValue(row.content);
    db.run(
      INSERT_MESSAGE,
      row.id,
      sessionId,
      row.messageId,
      row.part,
      row.number === null ? null : base.messages + row.number,
      row.role,
      value,
      row.toolCallId,
      row.runId,
      row.sequence,
      row.createdAt,
    );
    free();
  }
  for (const { messageId, runId, first } of changes.messageEntries)
    db.run(
      "update messages set number = ? + part, run_id = ? where session_id = ? and message_id = ?",
      base.messages + first,
      runId,
      sessionId,
      messageId,
    );
  if (changes.awaitInserts.length > 0) insertAwaits(db, sessionId, changes);
  for (const { tool_use_id, closed_at, resolution } of changes.awaitCloses)
    db.run(
      `update awaits set closed_at = ?, resolution = ? where session_id = ? and place = (
        select min(place) from awaits where session_id = ? and tool_use_id = ? and closed_at is null)`,
      closed_at,
      resolution,
      sessionId,
      sessionId,
      tool_use_id,
    );
  for (const checkpoint of changes.checkpointInserts) insert(db, "checkpoints", { ...checkpoint });
  if (changes.fileInserts.length > 0) insertFiles(db, sessionId, changes);
}

function insertAwaits(db: Database, sessionId: string, { awaitInserts }: Changes): void {
  const before = Number(db.get("select count(*) as n from awaits where session_id = ?", sessionId)?.["n"]);
  for (const [index, opened] of awaitInserts.entries())
    insert(db, "awaits", {
      ...opened,
      input: JSON.stringify(opened.input ?? null),
      place: before + index,
    });
}

function insertFiles(db: Database, sessionId: string, { fileInserts }: Changes): void {
  const before = Number(db.get("select count(*) as n from files where session_id = ?", sessionId)?.["n"]);
  for (const [index, file] of fileInserts.entries()) insert(db, "files", { ...file, place: before + index });
}

/** Writes a new session with all changes of its first append. A later update would write the indexes a second time. */
function insertSession(
  db: Database,
  begun: NonNullable<Changes["sessionInsert"]>,
  { sessionSet, sessionAdd }: Changes,
): void {
  const { updated_at: changed_at, ...row } = { ...begun, ...sessionSet };
  insert(db, "sessions", { ...row, changed_at, ...sessionAdd });
}

/** Columns that change with every step. They have no index, and do not set `changed_at`. */
const PROGRESS = new Set([
  "current_step",
  "container_id",
  "last_known_input_tokens",
  "last_known_output_tokens",
  "reserved_micros",
  "reserved_until",
]);

function updateSession(db: Database, sessionId: string, { sessionSet, sessionAdd }: Changes): void {
  const { updated_at = null, status, ...set } = sessionSet;
  const isChange = Object.keys(set).some((name) => !PROGRESS.has(name));
  // Every step sets the status, usually to the same value. If so, this statement changes no row and writes no index.
  if (status !== undefined && !isChange)
    db.run(
      "update sessions set status = ?, changed_at = ? where id = ? and status <> ?",
      status,
      updated_at,
      sessionId,
      status,
    );
  const changed = isChange && { changed_at: updated_at, ...(status !== undefined && { status }) };
  update(db, ["sessions", sessionId], { ...set, ...changed }, sessionAdd);
}

function setTags(db: Database, sessionId: string, tags: readonly string[]): void {
  db.run("delete from session_tags where session_id = ?", sessionId);
  for (const tag of new Set(tags))
    db.run("insert into session_tags select tenant, ?, created_at, id from sessions where id = ?", tag, sessionId);
}

function setMetadata(db: Database, sessionId: string, metadata: JsonObject): void {
  db.run("delete from session_metadata where session_id = ?", sessionId);
  for (const [key, value] of metadataPairs(metadata))
    db.run(
      "insert into session_metadata select tenant, ?, ?, created_at, id from sessions where id = ?",
      key,
      value,
      sessionId,
    );
}

type Columns = Readonly<Record<string, unknown>>;

function insert(db: Database, table: string, row: Columns): void {
  const names = Object.keys(row);
  const sql = `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
  db.run(sql, ...names.map((name) => bound(row[name])));
}

/** Sets columns and adds to counters. Does nothing if both are empty. */
function update(db: Database, [table, id]: readonly [string, string], set: Columns, add: Counters): void {
  const settings = Object.keys(set);
  const additions = (Object.keys(add) as (keyof Counters)[]).filter((name) => add[name] !== 0);
  if (settings.length + additions.length === 0) return;
  const assignments = [...settings.map((name) => `${name} = ?`), ...additions.map((name) => `${name} = ${name} + ?`)];
  const values = [...settings.map((name) => bound(set[name])), ...additions.map((name) => add[name] ?? 0)];
  db.run(`update ${table} set ${assignments.join(", ")} where id = ?`, ...values, id);
}

/** Converts a value for storage. Lists and objects become JSON text, and booleans become 1 or 0. */
function bound(value: unknown): SQLInputValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return (value ?? null) as SQLInputValue;
}
