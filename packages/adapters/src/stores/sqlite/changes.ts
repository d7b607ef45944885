import type { Changes, SessionColumns } from "@skein/core";
import type { SQLInputValue } from "node:sqlite";
import type { Database } from "./database.ts";

/** How many messages and runs a session had before: the base of the relative numbers in its changes. */
export interface Base {
  readonly messages: number;
  readonly runs: number;
}

/** Applies the row operations of one append, inside its transaction. */
export function applyChanges(db: Database, sessionId: string, changes: Changes, base: Base): void {
  if (changes.sessionInsert) insert(db, "sessions", sessionColumns(changes.sessionInsert));
  updateSession(db, sessionId, changes);
  const tags = changes.sessionSet.tags ?? changes.sessionInsert?.tags;
  if (tags) setTags(db, sessionId, tags);
  for (const [index, run] of changes.runInserts.entries())
    insert(db, "runs", { ...columns(run), number: base.runs + index + 1 });
  for (const { id, set, add } of changes.runUpdates) update(db, ["runs", id], { ...set }, { ...add });
  for (const row of changes.messageInserts)
    insert(db, "messages", {
      id: row.id,
      session_id: sessionId,
      message_id: row.messageId,
      part: row.part,
      number: row.number === null ? null : base.messages + row.number,
      role: row.role,
      content: JSON.stringify(row.content),
      tool_call_id: row.toolCallId,
      run_id: row.runId,
      sequence: row.sequence,
      created_at: row.createdAt,
    });
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
  for (const checkpoint of changes.checkpointInserts)
    insert(db, "checkpoints", { ...checkpoint, files_modified: JSON.stringify(checkpoint.files_modified) });
  if (changes.fileInserts.length > 0) insertFiles(db, sessionId, changes);
}

function insertAwaits(db: Database, sessionId: string, { awaitInserts }: Changes): void {
  const before = Number(db.get("select count(*) as n from awaits where session_id = ?", sessionId)?.["n"]);
  for (const [index, opened] of awaitInserts.entries())
    insert(db, "awaits", {
      ...columns(opened),
      input: JSON.stringify(opened.input ?? null),
      place: before + index,
    });
}

function insertFiles(db: Database, sessionId: string, { fileInserts }: Changes): void {
  const before = Number(db.get("select count(*) as n from files where session_id = ?", sessionId)?.["n"]);
  for (const [index, file] of fileInserts.entries()) insert(db, "files", { ...file, place: before + index });
}

function updateSession(db: Database, sessionId: string, { sessionSet, sessionAdd }: Changes): void {
  update(db, ["sessions", sessionId], sessionColumns(sessionSet), { ...sessionAdd });
}

/** The time of the last event stands on the head, which every append writes anyway; here it is when this row changed. */
function sessionColumns({ updated_at, ...row }: Partial<SessionColumns>): Columns {
  return Object.keys(row).length === 0 ? {} : { ...columns(row), changed_at: updated_at };
}

function setTags(db: Database, sessionId: string, tags: readonly string[]): void {
  db.run("delete from session_tags where session_id = ?", sessionId);
  for (const tag of new Set(tags))
    db.run("insert into session_tags select tenant, ?, created_at, id from sessions where id = ?", tag, sessionId);
}

type Columns = Readonly<Record<string, SQLInputValue | boolean | undefined>>;

/** Lists and objects become JSON text; everything else is a column as it is. */
function columns(row: object): Columns {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      typeof value === "object" && value !== null ? JSON.stringify(value) : (value as SQLInputValue),
    ]),
  );
}

function insert(db: Database, table: string, row: Columns): void {
  const names = Object.keys(row);
  const sql = `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
  db.run(sql, ...names.map((name) => bound(row[name])));
}

/** Sets some columns and adds to others; with neither, nothing happens. */
function update(
  db: Database,
  [table, id]: readonly [string, string],
  set: Columns,
  add: Readonly<Record<string, number>>,
): void {
  const settings = Object.keys(set);
  const additions = Object.keys(add).filter((name) => add[name] !== 0);
  if (settings.length + additions.length === 0) return;
  const assignments = [...settings.map((name) => `${name} = ?`), ...additions.map((name) => `${name} = ${name} + ?`)];
  const values = [...settings.map((name) => bound(set[name])), ...additions.map((name) => add[name] ?? 0)];
  db.run(`update ${table} set ${assignments.join(", ")} where id = ?`, ...values, id);
}

function bound(value: SQLInputValue | boolean | undefined): SQLInputValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  return value ?? null;
}
