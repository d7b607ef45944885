/**
 * Reads the sessions of opencode: SQLite databases of 1.x and 2.x, which may be one file, and older files in
 * `storage/`.
 */
import { basename, dirname, isAbsolute, join } from "node:path";
import { stringOf } from "../../model/value.ts";
import { entriesIn, isFile, isFolder } from "../port/files.ts";
import { settledStamp } from "../port/sqlite-connection.ts";
import { readDatabase, type OpenDatabase, type Row } from "../port/sqlite.ts";
import type { Found, TranslatedSource, Problem, Unit } from "../port/source.ts";
import { originalRow, readFirst } from "./version-1.ts";
import { readSecond } from "./version-2.ts";
import { fileSession, oldestStorages, originalDocument, storedSessions } from "./stored-files.ts";

const databaseName = /^opencode(?:-[A-Za-z0-9_.-]+)?\.db$/;

export const opencode: TranslatedSource = {
  name: "opencode",
  reads: "translated",
  roots({ env, homes }) {
    const folders = env["XDG_DATA_HOME"]
      ? [join(env["XDG_DATA_HOME"], "opencode")]
      : homes.map((home) => join(home, ".local", "share", "opencode"));
    // opencode resolves a relative path from the data folder.
    const named = env["OPENCODE_DB"];
    const databases = !named ? [] : isAbsolute(named) ? [named] : folders.map((folder) => join(folder, named));
    const isListed = (path: string): boolean => folders.includes(dirname(path)) && databaseName.test(basename(path));
    return [...folders, ...databases.filter((path) => !isListed(path))];
  },
  owns: (path) =>
    isFolder(path)
      ? entriesIn(path).some(({ name }) => databaseName.test(name)) ||
        isFolder(join(path, "storage", "session")) ||
        oldestStorages(path).some((storage) => isFolder(join(storage, "info")))
      : isDatabase(path),
  units: findSessions,
  read(unit, writer) {
    if (unit.extra?.["form"] === "files") fileSession(unit, writer);
    else if (unit.extra?.["form"] === 2) readDatabase(unit.path, (database) => readSecond(database, unit, writer));
    else readDatabase(unit.path, (database) => readFirst(database, unit, writer));
  },
  original: (unit, from) =>
    unit.extra?.["form"] === "files"
      ? originalDocument(unit, from)
      : { path: unit.path, text: readDatabase(unit.path, (database) => originalRow(database, from)) },
};

function isDatabase(path: string): boolean {
  try {
    return isFile(path) && readDatabase(path, formsOf).length > 0;
  } catch {
    return false;
  }
}

/**
 * Returns which versions wrote into the database. Version 1.x also creates `session_message`, but leaves the table
 * empty.
 */
function formsOf(database: OpenDatabase): readonly (1 | 2)[] {
  const has = (table: string, ...columns: readonly string[]): boolean => {
    const found = database.columns(table);
    return columns.every((column) => found.has(column));
  };
  const second = has("session_v2", "id", "time_updated") && has("session_message", "session_id", "seq", "data");
  const first =
    has("session", "id", "time_updated") && has("message", "session_id", "data") && has("part", "message_id", "data");
  return [...(second ? [2 as const] : []), ...(first ? [1 as const] : [])];
}

function findSessions(root: string): Found {
  const problems: Problem[] = [];
  const units = new Map<string, Unit>();
  const add = (unit: Unit): void => {
    if (!units.has(unit.id)) units.set(unit.id, unit);
  };
  const databases = isFile(root)
    ? [root]
    : entriesIn(root, problems).flatMap(({ name }) => (databaseName.test(name) ? [join(root, name)] : []));
  for (const path of databases) {
    const found = unchanged(root, path);
    for (const unit of found.units) add(unit);
    problems.push(...found.problems);
  }
  if (!isFile(root)) for (const unit of storedSessions(root, problems)) add(unit);
  return { units: [...units.values()], problems };
}

/** The sessions of each database, and the stamp of the database when its sessions were read. */
const knownDatabases = new Map<string, { readonly stamp: string; readonly found: Found }>();

/** Returns the sessions of a database. A long-running process reads them again only after a write. */
function unchanged(root: string, path: string): Found {
  const key = `${root}\0${path}`;
  const stamp = settledStamp(path);
  const known = knownDatabases.get(key);
  if (known && known.stamp === stamp) return known.found;
  const found = sessionsIn(root, path);
  if (stamp !== undefined && found.problems.length === 0) knownDatabases.set(key, { stamp, found });
  return found;
}

function sessionsIn(root: string, path: string): Found {
  const problems: Problem[] = [];
  const units: Unit[] = [];
  try {
    readDatabase(path, (database) => {
      const forms = formsOf(database);
      if (forms.length === 0)
        problems.push({ path, message: "a database whose tables Skein does not know: is it of a newer version?" });
      for (const form of forms)
        for (const row of sessionRows(database, form)) units.push(unitOf(root, path, form, row));
    });
  } catch (error) {
    problems.push({ path, message: error instanceof Error ? error.message : String(error) });
  }
  return { units, problems };
}

/**
 * Returns the rows of sessions. SQLite counts messages with the indexes, so it does not read the content of the
 * messages.
 */
function sessionRows(database: OpenDatabase, form: 1 | 2): readonly Row[] {
  const [table, messages] = form === 2 ? ["session_v2", "session_message"] : ["session", "message"];
  const count = (of: string, what: string): string =>
    `(SELECT ${what} FROM ${of} WHERE ${of}.session_id = ${table}.id)`;
  const hasParts = form === 1 && database.columns("part").has("session_id");
  const known = database.columns(table);
  const changed = newestChanges(database, form, table);
  const optional = ["directory", "parent_id"].filter((column) => known.has(column)).map((column) => `, ${column}`);
  return database.all(`SELECT id, time_updated${optional.join("")}, ${count(messages, "count(*)")} AS messages,
    ${form === 2 ? count(messages, "max(seq)") : count(messages, "max(time_created)")} AS newest,
    ${hasParts ? count("part", "count(*)") : "0"} AS parts, ${changed} AS changed FROM ${table}`);
}

/** The number of newest sessions that opencode may still write to. */
const mayBeWritten = 50;

/**
 * Selects the times when the last two messages of a new session changed. opencode writes the result of a call, or the
 * end of an answer, into a row that already exists. Looking up messages of every session would take several times as
 * long as the counts.
 */
function newestChanges(database: OpenDatabase, form: 1 | 2, table: string): string {
  const [messages, order] = form === 2 ? ["session_message", "seq"] : ["message", "time_created"];
  if (!database.columns(messages).has("time_updated")) return "0";
  const last = (what: string): string =>
    `SELECT ${what} FROM ${messages} WHERE session_id = ${table}.id ORDER BY ${order} DESC LIMIT 2`;
  const parts = form === 1 && database.columns("part").has("time_updated");
  const ofParts = `(SELECT max(time_updated) FROM part WHERE message_id IN (${last("id")}))`;
  return `CASE WHEN ${table}.id IN (SELECT id FROM ${table} ORDER BY time_updated DESC LIMIT ${mayBeWritten})
    THEN (SELECT max(time_updated) FROM (${last("time_updated")})) || ' ' || ${parts ? `coalesce(${ofParts}, 0)` : "0"} END`;
}

function unitOf(root: string, path: string, form: 1 | 2, row: Row): Unit {
  const { id, time_updated: updated, messages, newest, parts, changed, directory, parent_id: parent } = row;
  const head = { cwd: stringOf(directory) || null, parentId: stringOf(parent) };
  const stamp = `${form} ${String(updated)} ${String(messages)} ${String(newest)} ${String(parts)} ${String(changed)}`;
  return { id: String(id), root, path, bytes: 0, stamp, mtimeMs: Number(updated) || 0, head, extra: { form } };
}
