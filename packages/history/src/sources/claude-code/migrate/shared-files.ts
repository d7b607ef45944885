/** Edits the two files that all projects share: the prompt history and the settings per project. */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { findKeys, keys, newFound, skipSpace, skipString, skipValue } from "../../../scan/json-scan.ts";
import { objectOf } from "../../../model/value.ts";
import { isSamePath } from "../../../model/same-path.ts";
import { exists, syncFolder } from "../../../disk/durable-files.ts";
import type { KeyEdit, LineEdits } from "../../../migrate/journal.ts";
import { rewriteJson } from "./rewrite-line.ts";
import type { MigrateMode } from "../../../migrate/types.ts";

export interface HistoryMove {
  readonly root: string;
  readonly destinationRoot: string;
  readonly sessionIds: ReadonlySet<string>;
  readonly source: string;
  readonly destination: string;
  readonly mode: MigrateMode;
  /** Whether to also change entries that name the project but no session. */
  readonly isWholeWorkspace: boolean;
}

export function planHistoryEdits(move: HistoryMove): readonly LineEdits[] {
  const path = join(move.root, "history.jsonl");
  const target = join(move.destinationRoot, "history.jsonl");
  const mappings = [{ from: move.source, to: move.destination }];
  const edits: [string, string | null][] = [];
  const appended: string[] = [];
  for (const line of linesOf(path)) {
    if (!belongsTo(line, move)) continue;
    const rewritten = rewriteJson(Buffer.from(line), mappings)?.bytes.toString();
    if (path !== target) {
      appended.push(rewritten ?? line);
      if (move.mode === "move") edits.push([line, null]);
    } else if (rewritten !== undefined && move.mode === "move") edits.push([line, rewritten]);
    else if (rewritten !== undefined) appended.push(rewritten);
  }
  const plans = [
    { path, edits, appended: path === target ? appended : [] },
    ...(path === target ? [] : [{ path: target, edits: [], appended }]),
  ];
  return plans.filter((plan) => plan.edits.length + plan.appended.length > 0);
}

function belongsTo(line: string, { sessionIds, source, isWholeWorkspace }: HistoryMove): boolean {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return false;
  }
  const { display, timestamp, sessionId, project } = objectOf(value);
  if (typeof display !== "string" || typeof timestamp !== "number") return false;
  if (typeof sessionId === "string") return sessionIds.has(sessionId);
  return isWholeWorkspace && typeof project === "string" && isSamePath(project, source);
}

function linesOf(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  // A line with bytes that are not UTF-8 is not edited, because an edit would lose these bytes.
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.includes("\u{FFFD}"));
}

/** Edits lines in place and appends lines. A second call changes nothing, because edited lines no longer match. */
export function applyLineEdits({ path, edits, appended }: LineEdits): void {
  const wanted = new Map(edits);
  const present = new Set(linesOf(path));
  const missing = appended.filter((line) => !present.has(line));
  if (edits.some(([old]) => present.has(old))) {
    replaceFile(path, (bytes) => {
      const lines = bytes.toString("latin1").split("\n");
      const now = lines.flatMap((line) => {
        const text = Buffer.from(line, "latin1").toString("utf8");
        if (!wanted.has(text)) return [line];
        const replacement = wanted.get(text) ?? null;
        return replacement === null ? [] : [Buffer.from(replacement).toString("latin1")];
      });
      return Buffer.from(now.join("\n"), "latin1");
    });
  }
  if (missing.length > 0) appendLines(path, missing);
}

export function undoLineEdits({ path, edits, appended }: LineEdits): LineEdits {
  return {
    path,
    edits: [
      ...edits.flatMap(([old, now]) => (now === null ? [] : [[now, old] as const])),
      ...appended.map((line) => [line, null] as const),
    ],
    appended: edits.flatMap(([old, now]) => (now === null ? [old] : [])),
  };
}

function appendLines(path: string, lines: readonly string[]): void {
  const fd = openSync(path, "a+", 0o600);
  try {
    const { size } = fstatSync(fd);
    const last = Buffer.alloc(1);
    if (size > 0) readSync(fd, last, 0, 1, size - 1);
    const glue = size > 0 && last[0] !== 0x0a ? "\n" : "";
    writeSync(fd, `${glue}${lines.map((line) => `${line}\n`).join("")}`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Replaces a whole file. If Claude Code appends to the old file during the replacement, the new file gets these bytes
 * too.
 */
function replaceFile(path: string, change: (bytes: Buffer) => Buffer): void {
  const old = openSync(path, "r");
  const staged = join(dirname(path), `.skein-${basename(path)}`);
  try {
    const { mode, size } = fstatSync(old);
    const before = Buffer.alloc(size);
    readSync(old, before, 0, size, 0);
    rmSync(staged, { force: true });
    const fd = openSync(staged, "wx", mode & 0o777);
    try {
      const bytes = change(before);
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
      fsyncSync(fd);
      renameSync(staged, path);
      syncFolder(dirname(path));
      const late = Buffer.alloc(Math.max(0, fstatSync(old).size - size));
      if (late.length > 0) writeSync(fd, late, 0, readSync(old, late, 0, late.length, size));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    rmSync(staged, { force: true });
    throw error;
  } finally {
    closeSync(old);
  }
}

/** Returns the file with the settings per project. The file is in the data directory, or beside it for `~/.claude`. */
function settingsFile(root: string): string | undefined {
  const inside = join(root, ".claude.json");
  if (exists(inside)) return inside;
  const beside = join(dirname(root), ".claude.json");
  return basename(root) === ".claude" && exists(beside) ? beside : undefined;
}

/** Plans the edit of the settings. Returns a sentence if the settings cannot be edited, and undefined if none exist. */
export function planKeyEdit(root: string, edit: Omit<KeyEdit, "path">): KeyEdit | string | undefined {
  const path = settingsFile(root);
  if (path === undefined) return undefined;
  const places = projectPlaces(readFileSync(path));
  if (!places || !places.has(edit.from)) return undefined;
  if (places.has(edit.to))
    return `${path} already has settings for ${edit.to}. They stay, and the settings of ${edit.from} stay too.`;
  return { path, ...edit };
}

/** Renames or copies the key of a project in the settings. All other bytes of the file stay the same. */
export function applyKeyEdit({ path, from, to, mode }: KeyEdit): void {
  if (!exists(path)) return;
  const places = projectPlaces(readFileSync(path));
  const place = places?.get(from);
  if (!place || places?.has(to)) return;
  replaceFile(path, (bytes) => {
    const now = projectPlaces(bytes)?.get(from);
    if (!now) return bytes;
    const key = Buffer.from(JSON.stringify(to));
    if (mode === "move") return Buffer.concat([bytes.subarray(0, now.key), key, bytes.subarray(now.keyEnd)]);
    const entry = Buffer.concat([
      key,
      bytes.subarray(now.keyEnd, now.end),
      Buffer.from(","),
      bytes.subarray(now.space, now.key),
    ]);
    return Buffer.concat([bytes.subarray(0, now.key), entry, bytes.subarray(now.key)]);
  });
}

/** Removes a copied key, or gives a renamed key its old name. */
export function undoKeyEdit({ path, from, to, mode }: KeyEdit): void {
  if (mode === "move") {
    applyKeyEdit({ path, from: to, to: from, mode });
    return;
  }
  if (!exists(path) || !projectPlaces(readFileSync(path))?.has(to)) return;
  replaceFile(path, (bytes) => {
    const places = projectPlaces(bytes);
    const copy = places?.get(to);
    const original = places?.get(from);
    // The copied key is removed only if it is still directly before the key that it was copied from.
    if (!copy || !original || original.space !== copy.end + 1) return bytes;
    return Buffer.concat([bytes.subarray(0, copy.key), bytes.subarray(original.key)]);
  });
}

interface KeyPlace {
  /** Where the white space before the key begins. */
  readonly space: number;
  readonly key: number;
  readonly keyEnd: number;
  readonly end: number;
}

const projectsKey = keys("projects");

function projectPlaces(bytes: Buffer): ReadonlyMap<string, KeyPlace> | undefined {
  try {
    JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
  const found = newFound(projectsKey);
  findKeys(bytes, 0, bytes.length, projectsKey, found);
  const [start = -1, end = -1] = found;
  if (start < 0 || bytes[start] !== 0x7b) return undefined;
  const places = new Map<string, KeyPlace>();
  let space = start + 1;
  let at = skipSpace(bytes, space, end);
  while (at < end && bytes[at] === 0x22) {
    const keyEnd = skipString(bytes, at, end);
    const value = skipSpace(bytes, skipSpace(bytes, keyEnd, end) + 1, end);
    const valueEnd = skipValue(bytes, value, end);
    if (keyEnd < 0 || valueEnd < 0) return undefined;
    places.set(JSON.parse(bytes.toString("utf8", at, keyEnd)) as string, { space, key: at, keyEnd, end: valueEnd });
    const comma = skipSpace(bytes, valueEnd, end);
    if (bytes[comma] !== 0x2c) break;
    space = comma + 1;
    at = skipSpace(bytes, space, end);
  }
  return places;
}
