/** Codex: rollouts in `sessions/YYYY/MM/DD` and `archived_sessions`, one file of JSON lines per thread. */
import { basename, join } from "node:path";
import { objectOf, stringOf, type Value } from "../../model/value.ts";
import { eachLine, eachRecord, entriesIn, filesNamed, isFolder, originalLine, stampOf } from "../port/files.ts";
import { readDatabase } from "../port/sqlite.ts";
import type { Found, TranslatedSource, Problem, Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";
import { parseLine } from "../../scan/parse-line.ts";
import { createRollout } from "./rollout.ts";

const rolloutName = /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+?)\.jsonl(?:\.zst)?$/;

export const codex: TranslatedSource = {
  name: "codex",
  reads: "translated",
  roots: ({ env, homes }) => (env["CODEX_HOME"] ? [env["CODEX_HOME"]] : homes.map((home) => join(home, ".codex"))),
  owns: (path) =>
    isFolder(join(path, "archived_sessions")) ||
    entriesIn(join(path, "sessions")).some((entry) => entry.isDirectory() && /^\d{4}$/.test(entry.name)),
  units: findThreads,
  read: readThread,
  original: ({ path }, from) => originalLine(path, from),
};

/** The rollouts of each root, by the id of the thread. Forks need those of their parents. */
const rollouts = new Map<string, ReadonlyMap<string, string>>();

function findThreads(root: string): Found {
  const problems: Problem[] = [];
  const byId = new Map<string, string>();
  // An active thread takes precedence over its archived copy, and a plain file over a compressed file.
  const places = [join(root, "sessions"), join(root, "archived_sessions")];
  for (const path of places.flatMap((folder) => filesNamed(folder, rolloutName, problems).toSorted(plainFirst))) {
    const id = rolloutName.exec(basename(path))?.[1];
    if (id !== undefined && !byId.has(id)) byId.set(id, path);
  }
  rollouts.set(root, byId);
  const titles = titlesIn(root, problems);
  const units = [...byId].map(([id, path]): Unit => {
    const { stamp, mtimeMs } = stampOf(path);
    const title = titles.get(id) ?? null;
    const archived = path.startsWith(places[1] ?? "");
    return { id, root, path, mtimeMs, stamp: `${stamp} ${title ?? ""}`, extra: { title, archived } };
  });
  return { units, problems };
}

function plainFirst(a: string, b: string): number {
  return Number(a.endsWith(".zst")) - Number(b.endsWith(".zst")) || (a < b ? -1 : 1);
}

/** Names that people gave to threads. The database takes precedence over the file, which is older. */
function titlesIn(root: string, problems: Problem[]): ReadonlyMap<string, string> {
  const titles = new Map<string, string>();
  const note = (value: Value): void => {
    const [id, name] = [stringOf(value["id"]), stringOf(value["thread_name"] ?? value["name"])];
    if (id !== null && name) titles.set(id, name);
  };
  try {
    eachLine(join(root, "session_index.jsonl"), (line) => {
      for (const { value } of parseLine(line, { line: 1, offset: 0 }, () => {})) note(value);
    });
  } catch {
    // The file may be missing: Codex writes it only when a thread gets a name.
  }
  const folder = process.env["CODEX_SQLITE_HOME"] ?? root;
  const newest = entriesIn(folder)
    .flatMap(({ name }) => /^state_(\d+)\.sqlite$/.exec(name) ?? [])
    .filter((part) => /^\d+$/.test(part))
    .reduce((most, part) => Math.max(most, Number(part)), -1);
  if (newest < 0) return titles;
  const path = join(folder, `state_${newest}.sqlite`);
  try {
    readDatabase(path, (database) => {
      if (!database.columns("threads").has("name")) return;
      database.each("SELECT id, name FROM threads WHERE name IS NOT NULL", [], note);
    });
  } catch (error) {
    problems.push({ path, message: error instanceof Error ? error.message : String(error) });
  }
  return titles;
}

function readThread(unit: Unit, writer: TranscriptWriter): void {
  let hasLostParent = false;
  const rollout = createRollout(unit.id, writer, (parentId) => {
    if (writer.wants === "head") return undefined;
    const path = rollouts.get(unit.root)?.get(parentId);
    hasLostParent = path === undefined;
    return path === undefined ? undefined : turnsIn(path);
  });
  // Without the file of its parent, the times of all lines are needed to find where a fork begins.
  const options = { writer, marks, needsAll: () => hasLostParent };
  eachRecord(unit.path, options, (value, from) => rollout.add(value, from));
  rollout.finish();
  // Last, so that the lines before it stay in their places when the thread gets a name.
  writer.title(stringOf(unit.extra?.["title"]), "session_index.jsonl");
  if (unit.extra?.["archived"] === true) writer.other("archived", {}, { from: "" });
}

const marks = ["token_count", "turn_context", "_started"];

const turnMark = Buffer.from('"turn_id"');

/** The ids of all turns in a rollout. A fork copies those of its parent. */
function turnsIn(path: string): ReadonlySet<string> {
  const turns = new Set<string>();
  try {
    eachLine(path, (bytes) => {
      if (!bytes.includes(turnMark)) return;
      for (const { value } of parseLine(bytes, { line: 1, offset: 0 }, () => {})) {
        const id = value["type"] === "turn_context" ? stringOf(objectOf(value["payload"])["turn_id"]) : null;
        if (id !== null) turns.add(id);
      }
    });
  } catch {
    // The parent was removed in the meantime.
  }
  return turns;
}
