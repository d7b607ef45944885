/**
 * Reads the sessions of Gemini CLI in `.gemini/tmp/<project>/chats/`. Until April 2026, a session was one document.
 * Newer sessions are files of lines.
 */
import { createHash } from "node:crypto";
import { closeSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { openPlainFile } from "../../scan/read-file.ts";
import { arrayOf, isObject, objectOf, stringOf } from "../../model/value.ts";
import {
  documentAt,
  documentOf,
  eachRecord,
  entriesIn,
  firstRecord,
  isFile,
  isFolder,
  originalLine,
  originalPart,
  stampOf,
  textAt,
} from "../port/files.ts";
import type { Found, TranslatedSource, Problem, Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";
import { createChat } from "./chat.ts";

export const gemini: TranslatedSource = {
  name: "gemini",
  reads: "translated",
  roots({ env, homes, platform }) {
    const folders = env["GEMINI_CLI_HOME"] ? [env["GEMINI_CLI_HOME"]] : homes;
    // In the sandbox of macOS, Gemini CLI may write only into the cache folder.
    const places = platform === "darwin" ? [".gemini", join(".cache", ".gemini")] : [".gemini"];
    return folders.flatMap((folder) => places.map((place) => join(folder, place)));
  },
  owns: (path) =>
    isFolder(join(path, "tmp")) &&
    (isFile(join(path, "installation_id")) ||
      isFile(join(path, "projects.json")) ||
      entriesIn(join(path, "tmp")).some(({ name }) => isFolder(join(path, "tmp", name, "chats")))),
  units: findChats,
  read: readChat,
  original: ({ path }, from) => (path.endsWith(".json") ? originalPart(path, from) : originalLine(path, from)),
};

function findChats(root: string): Found {
  const problems: Problem[] = [];
  const folders = foldersByName(root);
  const units = new Map<string, Unit>();
  for (const project of entriesIn(join(root, "tmp"), problems)) {
    if (!project.isDirectory()) continue;
    const cwd = projectRoot(join(root, "tmp", project.name), project.name, folders);
    const chats = join(root, "tmp", project.name, "chats");
    for (const path of chatFiles(chats, problems)) {
      const parent = /[\\/]chats[\\/]([^\\/]+)[\\/][^\\/]+$/.exec(path)?.[1] ?? null;
      const stamp = stampOf(path);
      const id = idOf(path, stamp.stamp) ?? basename(path).replace(/\.jsonl?$/, "");
      const known = units.get(id);
      const unit = { id, root, path, ...stamp, extra: { cwd, parent } };
      // If a session has several files, the newer file continues the older file.
      if (!known || known.mtimeMs < unit.mtimeMs || (known.path.endsWith(".json") && path.endsWith(".jsonl")))
        units.set(id, unit);
    }
  }
  return { units: [...units.values()], problems };
}

/** Returns the files of chats. A `.jsonl` file replaces a `.json` file of the same name. */
function chatFiles(chats: string, problems: Problem[]): readonly string[] {
  const entries = entriesIn(chats, problems);
  const names = new Set(entries.map(({ name }) => name));
  return entries.flatMap((entry) => {
    const path = join(chats, entry.name);
    if (entry.isDirectory()) return chatFiles(path, problems);
    if (!entry.isFile()) return [];
    if (entry.name.endsWith(".jsonl")) return [path];
    return entry.name.endsWith(".json") && !names.has(`${entry.name}l`) ? [path] : [];
  });
}

/** Remembers the session id of each file, because a long-running process needs thousands of ids for each search. */
const knownIds = new Map<string, { readonly stamp: string; readonly id: string }>();

function idOf(path: string, stamp: string): string | undefined {
  const before = knownIds.get(path);
  if (before?.stamp === stamp) return before.id;
  const id = sessionIdOf(path);
  if (id !== undefined) knownIds.set(path, { stamp, id });
  return id;
}

const head = Buffer.allocUnsafeSlow(4096);

function sessionIdOf(path: string): string | undefined {
  let fd: number;
  try {
    fd = openPlainFile(path);
  } catch {
    // The error is not lost, because reading the chat reports it.
    return undefined;
  }
  try {
    const count = readSync(fd, head, 0, head.length, 0);
    return /"sessionId"\s*:\s*"([^"\\]+)"/.exec(head.toString("utf8", 0, count))?.[1];
  } finally {
    closeSync(fd);
  }
}

/** Returns the project folders by the name or the hash that Gemini CLI gives them. */
function foldersByName(root: string): ReadonlyMap<string, string> {
  const projects = objectOf(documentAt(join(root, "projects.json"))?.["projects"]);
  return new Map(
    Object.entries(projects).flatMap(([path, name]): [string, string][] => [
      [String(name), path],
      [createHash("sha256").update(path).digest("hex"), path],
    ]),
  );
}

function projectRoot(folder: string, name: string, known: ReadonlyMap<string, string>): string | null {
  try {
    const path = textAt(join(folder, ".project_root")).trim();
    if (path !== "") return path;
  } catch {
    // Older versions of Gemini CLI do not write `.project_root`.
  }
  return known.get(name) ?? null;
}

const marks = ['"tokens"', '"$set"'];

function readChat(unit: Unit, writer: TranscriptWriter): void {
  writer.place({ cwd: stringOf(unit.extra?.["cwd"]) });
  const parent = stringOf(unit.extra?.["parent"]);
  if (parent !== null) writer.subagentOf({ sessionId: parent });
  const chat = createChat(unit.id, writer);
  if (writer.wants === "head") {
    const first = unit.path.endsWith(".jsonl") ? firstRecord(unit.path) : undefined;
    if (first) chat.add(first, "");
    return;
  }
  if (unit.path.endsWith(".jsonl")) eachRecord(unit.path, { writer, marks }, (value, from) => chat.add(value, from));
  else {
    const document = documentOf(unit.path, writer);
    for (const [at, message] of arrayOf(document?.["messages"]).entries())
      if (isObject(message)) chat.add(message, `messages/${at}`);
    if (document) chat.add({ $set: { summary: document["summary"] } }, "summary");
  }
  chat.finish();
}
