/**
 * Reads the sessions of Codex: files of JSON lines in `sessions/YYYY/MM/DD` and `archived_sessions`, which Codex calls
 * rollouts.
 */
import { join } from "node:path";
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import {
  eachLine,
  eachRecord,
  entriesIn,
  filesNamed,
  firstRecord,
  isFile,
  isFolder,
  originalLine,
  stampOf,
} from "../port/files.ts";
import { readDatabase } from "../port/sqlite.ts";
import type { Found, Original, Problem, TranslatedSource, Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";
import { parseLine } from "../../scan/parse-line.ts";
import { createRollout, type Rollout } from "./rollout.ts";
import { baseOf, idsOf, inheritedBy, rolloutAt, rolloutName, type Base } from "./segments.ts";

/** The file with the names of threads. */
const NAMES = "session_index.jsonl";

export const codex: TranslatedSource = {
  name: "codex",
  reads: "translated",
  roots: ({ env, homes }) => (env["CODEX_HOME"] ? [env["CODEX_HOME"]] : homes.map((home) => join(home, ".codex"))),
  owns: (path) =>
    isFolder(join(path, "archived_sessions")) ||
    entriesIn(join(path, "sessions")).some((entry) => entry.isDirectory() && /^\d{4}$/.test(entry.name)),
  units: findThreads,
  read: readThread,
  original({ id, root, path }, from) {
    if (from === NAMES) return originalTitle(root, id);
    const [, rollout, line = from] = /^rollout (\S+) (.*)$/.exec(from) ?? [];
    const file = rollout === undefined ? path : rolloutAt(placesIn(root), rollout);
    return file === undefined ? { path: join(root, "sessions"), text: undefined } : originalLine(file, line);
  },
};

interface Rollouts {
  readonly files: ReadonlyMap<string, string>;
  readonly threads: ReadonlyMap<string, readonly string[]>;
}

/** Remembers the files of each root, because the translation of a fork needs the files of its parent. */
const known = new Map<string, Rollouts>();

/** The folders with rollouts. The first folder wins if a thread is active and also in the archive. */
const placesIn = (root: string): readonly string[] => [join(root, "sessions"), join(root, "archived_sessions")];

function findThreads(root: string): Found {
  const problems: Problem[] = [];
  const byId = new Map<string, string>();
  const threads = new Map<string, string[]>();
  for (const path of placesIn(root).flatMap((folder) =>
    filesNamed(folder, rolloutName, problems).toSorted(plainFirst),
  )) {
    const ids = idsOf(path);
    if (!ids || byId.has(ids.rollout)) continue;
    byId.set(ids.rollout, path);
    const files = threads.get(ids.thread);
    if (files) files.push(path);
    else threads.set(ids.thread, [path]);
  }
  known.set(root, { files: byId, threads });
  const titles = titlesIn(root, problems);
  const units = [...threads].map(([id, files]): Unit => {
    // Codex creates files with ascending ids, so sorting by id gives the order of the files.
    if (files.length > 1) files.sort((a, b) => ((idsOf(a)?.rollout ?? "") < (idsOf(b)?.rollout ?? "") ? -1 : 1));
    const path = files.at(-1) ?? "";
    const { stamp, mtimeMs } = stampOf(...files);
    const title = titles.get(id) ?? null;
    const archived = path.startsWith(placesIn(root)[1] ?? "");
    const earlier = files.length > 1 ? { earlier: files.slice(0, -1) } : {};
    return { id, root, path, mtimeMs, stamp: `${stamp} ${title ?? ""}`, extra: { title, archived, ...earlier } };
  });
  return { units, problems };
}

/** Sorts plain files before compressed files. */
function plainFirst(a: string, b: string): number {
  return Number(a.endsWith(".zst")) - Number(b.endsWith(".zst")) || (a < b ? -1 : 1);
}

/** Returns the names that people gave to threads. Names in the database replace names in the file, which is older. */
function titlesIn(root: string, problems: Problem[]): ReadonlyMap<string, string> {
  const titles = new Map<string, string>();
  const note = (value: Value): void => {
    const [id, name] = [stringOf(value["id"]), stringOf(value["thread_name"] ?? value["name"])];
    if (id !== null && name) titles.set(id, name);
  };
  try {
    eachLine(join(root, NAMES), (line) => {
      for (const { value } of parseLine(line, { line: 1, offset: 0 }, () => {})) note(value);
    });
  } catch {
    // The file may be missing, because Codex writes it only when a thread gets a name.
  }
  const path = databaseOf(root);
  if (path === undefined) return titles;
  try {
    readDatabase(path, (database) => {
      if (!database.columns("threads").has("name")) return;
      database.each("SELECT id, name FROM threads WHERE name IS NOT NULL", [], note);
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    problems.push({ path, message: `only the names of threads could not be read: ${reason}` });
  }
  return titles;
}

/**
 * Returns the database with the names of threads, if it exists. The number in the file name is the version of the
 * tables.
 */
function databaseOf(root: string): string | undefined {
  const folder = process.env["CODEX_SQLITE_HOME"] ?? root;
  const newest = entriesIn(folder)
    .flatMap(({ name }) => /^state_(\d+)\.sqlite$/.exec(name) ?? [])
    .filter((part) => /^\d+$/.test(part))
    .reduce((most, part) => Math.max(most, Number(part)), -1);
  return newest < 0 ? undefined : join(folder, `state_${newest}.sqlite`);
}

/** Returns the row or the line that contains the name of a thread. */
function originalTitle(root: string, id: string): Original {
  const database = databaseOf(root);
  if (database !== undefined) {
    const rows = readDatabase(database, (open) =>
      open.columns("threads").has("name")
        ? open.all("SELECT * FROM threads WHERE id = ? AND name IS NOT NULL", id)
        : [],
    );
    if (rows.length > 0) return { path: database, text: JSON.stringify(rows[0]) };
  }
  const path = join(root, NAMES);
  let text: string | undefined;
  if (isFile(path))
    eachLine(path, (line) => {
      for (const { value } of parseLine(line, { line: 1, offset: 0 }, () => {}))
        if (value["id"] === id) text = line.toString("utf8");
    });
  return { path, text };
}

function readThread(unit: Unit, writer: TranscriptWriter): void {
  let hasLostParent = false;
  const rollouts = known.get(unit.root);
  const rollout = createRollout(unit.id, writer, (parentId) => {
    if (writer.wants === "head") return undefined;
    const turns = turnsIn(rollouts?.threads.get(parentId) ?? []);
    hasLostParent = turns.size === 0;
    return hasLostParent ? undefined : turns;
  });
  // If the file of the parent is missing, the beginning of a fork is found by the times of all lines.
  const options = { writer, marks, needsAll: () => hasLostParent };
  const earlier = writer.wants === "head" ? [] : arrayOf(unit.extra?.["earlier"]).map(String);
  const files = [...earlier, unit.path];
  const ends = endsIn(files, writer, rollout);
  for (const path of files) {
    const id = idsOf(path)?.rollout ?? "";
    const name = path === unit.path ? "" : `rollout ${id} `;
    let isFirst = true;
    eachRecord(path, options, (value, from) => {
      if (ends) ends.before(id, value);
      rollout.add(value, `${name}${from}`);
      if (isFirst && writer.wants === "transcript") goOn(baseOf(objectOf(value["payload"])));
      isFirst = false;
    });
  }
  rollout.finish();
  // The title is written after the conversation. So the conversation's lines stay in their places when the thread gets a
  // name.
  writer.title(stringOf(unit.extra?.["title"]), NAMES);
  if (unit.extra?.["archived"] === true) writer.other("archived", {}, { from: "line 1" });

  /**
   * The base of a file is the line of another file after which the file begins. If the base is in an earlier file of
   * this thread, continues after the base. If not, reads the conversation up to the base from the files of other
   * threads.
   */
  function goOn(base: Base | undefined): void {
    if (!base || ends?.goBack(base)) return;
    for (const { path, rollout: id, end } of inheritedBy(base, (wanted) => rollouts?.files.get(wanted)))
      eachRecord(path, { writer }, (value, from) => {
        if ((numberOf(value["ordinal"]) ?? end) < end) rollout.inherit(value, `rollout ${id} ${from}`);
      });
  }
}

/** Remembers at which lines of the earlier files the later files of a thread continue. */
function endsIn(files: readonly string[], writer: TranscriptWriter, rollout: Rollout) {
  if (files.length === 1 || writer.wants !== "transcript") return undefined;
  const bases = files.flatMap((path) => baseOf(objectOf(firstRecord(path)?.["payload"])) ?? []);
  const lines = new Map<string, string | null>();
  const keyOf = ({ rollout: id, end }: Base): string => `${id} ${end}`;
  return {
    before(id: string, { ordinal }: Value): void {
      for (const base of bases)
        if (base.rollout === id && (numberOf(ordinal) ?? 0) >= base.end && !lines.has(keyOf(base)))
          lines.set(keyOf(base), rollout.end());
    },
    goBack(base: Base): boolean {
      const isOwn = files.some((path) => idsOf(path)?.rollout === base.rollout);
      // If the base has no entry in `lines`, it is the end of its file.
      if (isOwn) rollout.branch(lines.get(keyOf(base)) ?? rollout.end());
      return isOwn;
    },
  };
}

// Each mark begins with a byte that is rare in texts, because such a mark is found faster. `_context` is the end of
// `turn_context`.
const marks = ['"token_', "_context", "_started"];

const turnMark = Buffer.from('"turn_id"');

/** Returns the ids of all turns in the files of a thread. Copies of the parent's turns in a fork keep their ids. */
function turnsIn(paths: readonly string[]): ReadonlySet<string> {
  const turns = new Set<string>();
  try {
    for (const path of paths)
      eachLine(path, (bytes) => {
        if (!bytes.includes(turnMark)) return;
        for (const { value } of parseLine(bytes, { line: 1, offset: 0 }, () => {})) {
          const id = value["type"] === "turn_context" ? stringOf(objectOf(value["payload"])["turn_id"]) : null;
          if (id !== null) turns.add(id);
        }
      });
  } catch {
    // The parent was removed after the folders were listed.
  }
  return turns;
}
