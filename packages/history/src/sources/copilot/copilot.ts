/**
 * Reads the sessions of GitHub Copilot CLI from the events in `session-state`. The usage comes from `session-store.db`,
 * from the events or from OpenTelemetry files.
 */
import { basename, join, sep } from "node:path";
import { objectOf, stringOf } from "../../model/value.ts";
import {
  eachRecord,
  entriesIn,
  fileStamp,
  firstRecord,
  isFile,
  isFolder,
  originalFile,
  originalLine,
  stampOf,
  textAt,
} from "../port/files.ts";
import { readDatabase } from "../port/sqlite.ts";
import type { Found, TranslatedSource, Problem, Unit } from "../port/source.ts";
import { createEvents, placeOf } from "./events.ts";
import { readStored, storedSessions, type StoredSession } from "./stored-turns.ts";
import { callRows, originalRow, type CallRow } from "./usage-rows.ts";
import { chatSpans } from "./spans.ts";

const marks = ['"session.', '"assistant.message"'];

export const copilot: TranslatedSource = {
  name: "copilot",
  reads: "translated",
  roots: ({ env, homes }) =>
    env["COPILOT_HOME"] ? [env["COPILOT_HOME"]] : homes.map((home) => join(home, ".copilot")),
  owns: (path) => isFolder(join(path, "session-state")) || isFile(databaseIn(path)),
  units: findSessions,
  read(unit, writer) {
    if (writer.wants === "head") {
      const first = firstRecord(unit.path);
      if (first?.["type"] === "session.start") writer.place(placeOf(objectOf(first["data"])));
      return;
    }
    const { rows, spans, stored } = known.get(unit.root) ?? usageOf(unit.root);
    const session = unit.path === databaseIn(unit.root) ? stored.get(unit.id) : undefined;
    if (session) return readStored(unit, session, rows.get(unit.id) ?? [], writer);
    const events = createEvents(unit.id, writer, { rows: rows.get(unit.id) ?? [], spans: spans.get(unit.id) ?? [] });
    eachRecord(unit.path, { writer, marks }, (event, from) => events.add(event, from));
    events.finish(stringOf(unit.extra?.["title"]));
  },
  original({ root, path }, from) {
    if (from === "workspace.yaml") return originalFile(join(path, "..", from));
    if (/^\w+\/\S+$/.test(from)) return originalRow(databaseIn(root), from);
    const [, file, line] = /^file (.*) (line \d+)$/.exec(from) ?? [];
    return originalLine(file ?? path, line ?? from);
  },
};

function findSessions(root: string): Found {
  const problems: Problem[] = [];
  const folder = join(root, "session-state");
  const { rows, spans, stored } = usageOf(root, problems);
  const entries = entriesIn(folder, problems);
  const units = new Map<string, Unit>();
  const add = (id: string, path: string, title: () => string | null): void => {
    const found = units.has(id) ? undefined : fileStamp(path, problems);
    if (!found) return;
    const counted = `${rows.get(id)?.length ?? 0} ${spans.get(id)?.length ?? 0}`;
    const [{ mtimeMs }, name] = [found, title()];
    units.set(id, {
      id,
      root,
      path,
      mtimeMs,
      stamp: `${found.stamp} ${name ?? ""} ${counted}`,
      extra: { title: name },
    });
  };
  for (const entry of entries) {
    const { name } = entry;
    const own = `${folder}${sep}${name}${sep}`;
    if (entry.isDirectory()) add(name, `${own}events.jsonl`, () => nameIn(`${own}workspace.yaml`));
  }
  // Earlier versions wrote one file for each session. If a folder with the same name exists, the file is not used.
  for (const { name } of entries)
    if (name.endsWith(".jsonl")) add(basename(name, ".jsonl"), join(folder, name), () => null);
  const path = databaseIn(root);
  for (const [id, session] of stored)
    if (!units.has(id)) units.set(id, storedUnit(session, rows.get(id)?.length ?? 0, { id, root, path }));
  return { units: [...units.values()], problems };
}

function storedUnit(session: StoredSession, calls: number, at: Pick<Unit, "id" | "root" | "path">): Unit {
  const { cwd, title, updatedMs, turns, bytes } = session;
  const stamp = `store ${updatedMs} ${turns} ${bytes} ${calls} ${title ?? ""}`;
  return { ...at, bytes: 0, stamp, mtimeMs: updatedMs, head: { cwd, parentId: null } };
}

const databaseIn = (root: string): string => join(root, "session-store.db");

/** Returns the `name` in a flat YAML file. */
function nameIn(path: string): string | null {
  // Many sessions do not have the file. Checking this is faster than catching an exception.
  if (!isFile(path)) return null;
  try {
    const text = /^name:[ \t]*(.+)$/m.exec(textAt(path))?.[1]?.trim();
    return text ? text.replace(/^(["'])(.*)\1$/, "$2") : null;
  } catch {
    return null;
  }
}

/** Reads the model calls and the sessions in `session-store.db`. */
function storeAt(path: string, problems: Problem[]): Pick<Usage, "rows" | "stored"> {
  const none = { rows: new Map<string, CallRow[]>(), stored: new Map<string, StoredSession>() };
  if (!isFile(path)) return none;
  const report = (message: string): void => {
    if (!problems.some((problem) => problem.path === path)) problems.push({ path, message });
  };
  try {
    return readDatabase(path, (database) => ({
      rows: callRows(database, report),
      stored: storedSessions(database, report),
    }));
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
    return none;
  }
}

interface Usage {
  readonly rows: ReadonlyMap<string, readonly CallRow[]>;
  readonly spans: ReadonlyMap<string, readonly CallRow[]>;
  /** The sessions in the database. Skein uses them only for sessions without events. */
  readonly stored: ReadonlyMap<string, StoredSession>;
}

const known = new Map<string, Usage & { readonly stamp: string }>();

function usageOf(root: string, problems: Problem[] = []): Usage {
  const database = databaseIn(root);
  const given = process.env["COPILOT_OTEL_FILE_EXPORTER_PATH"];
  const files = entriesIn(join(root, "otel")).flatMap(({ name }) =>
    name.endsWith(".jsonl") ? [join(root, "otel", name)] : [],
  );
  const paths = given && isFile(given) && !files.includes(given) ? [...files, given] : files;
  const { stamp } = stampOf(database, `${database}-wal`, ...paths);
  const before = known.get(root);
  if (before?.stamp === stamp) return before;
  const problemsBefore = problems.length;
  const usage = { stamp, ...storeAt(database, problems), spans: chatSpans(paths, problems) };
  // After a problem, nothing is remembered. So the next call reads the files again, and reports the problem again.
  if (problems.length === problemsBefore) known.set(root, usage);
  else known.delete(root);
  return usage;
}
