/**
 * Reads sessions of opencode versions without a database. The files are in `session`, `message` and `part` below
 * `storage`. Until version 0.5, each project had a `storage`.
 */
import { basename, join } from "node:path";
import { numberOf, objectOf, stringOf } from "../../model/value.ts";
import { documentAt, documentOf, entriesIn, isFile, originalFile, originalPart, stampOf } from "../port/files.ts";
import type { Original, Problem, Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";
import { writeMessage, type Part } from "./messages.ts";
import { inlineParts, withoutMetadata } from "./oldest-messages.ts";

/** The folders with the files of one session. */
interface Stored {
  readonly messages: string;
  /** The folder that has a folder of parts for each message. */
  readonly parts: string;
}

/**
 * Returns the sessions in `storage`, and then sessions of the oldest versions. If a session is in both, the newer copy
 * comes first.
 */
export function storedSessions(root: string, problems: Problem[]): readonly Unit[] {
  const storage = join(root, "storage");
  const newer = entriesIn(join(storage, "session"), problems).flatMap(({ name }) =>
    sessionsIn(root, join(storage, "session", name), problems, (id) => ({
      messages: join(storage, "message", id),
      parts: join(storage, "part"),
    })),
  );
  const oldest = oldestStorages(root, problems).flatMap((session) =>
    sessionsIn(root, join(session, "info"), problems, (id) => ({
      messages: join(session, "message", id),
      parts: join(session, "part", id),
    })),
  );
  return [...newer, ...oldest];
}

/** Returns the folders with the sessions of each project, in the format of the oldest versions. */
export function oldestStorages(root: string, problems?: Problem[]): readonly string[] {
  const projects = join(root, "project");
  return entriesIn(projects, problems).map(({ name }) => join(projects, name, "storage", "session"));
}

function sessionsIn(
  root: string,
  folder: string,
  problems: Problem[],
  storedOf: (id: string) => Stored,
): readonly Unit[] {
  return entriesIn(folder, problems).flatMap((entry): Unit[] => {
    if (!entry.isFile() || !entry.name.endsWith(".json")) return [];
    const id = basename(entry.name, ".json");
    const path = join(folder, entry.name);
    const stored = storedOf(id);
    const names = entriesIn(stored.messages).map(({ name }) => name);
    const parts = names.map((name) => join(stored.parts, basename(name, ".json")));
    // opencode may write the last messages and their parts again, and this does not change the time of their folders.
    const last = [...names.slice(-2).map((name) => join(stored.messages, name)), ...parts.slice(-2).flatMap(filesIn)];
    return [{ id, root, path, ...stampOf(path, stored.messages, ...parts, ...last), extra: { form: "files", stored } }];
  });
}

function filesIn(folder: string): readonly string[] {
  return entriesIn(folder).map(({ name }) => join(folder, name));
}

const storedOf = ({ extra }: Unit): Stored => extra?.["stored"] as Stored;

export function fileSession(unit: Unit, writer: TranscriptWriter): void {
  const session = documentOf(unit.path, writer);
  if (!session) return;
  const stored = storedOf(unit);
  const cwd = stringOf(session["directory"]) ?? folderOf(stored);
  writer.place({ cwd, version: stringOf(session["version"]) });
  const parent = stringOf(session["parentID"]);
  if (parent !== null) writer.subagentOf({ sessionId: parent, description: stringOf(session["title"]) });
  if (writer.wants === "head") return;
  for (const { id, data } of messagesOf(stored, writer)) {
    const inline = inlineParts(id, data);
    const parts = inline ?? documentsIn(join(stored.parts, id), writer);
    writeMessage(id, withoutMetadata(data), parts, writer);
  }
  writer.title(stringOf(session["title"]), `session/${unit.id}`);
}

/** Returns the project of a session. The oldest versions wrote it into each answer, not into the session. */
function folderOf(stored: Stored): string | null {
  for (const { name } of entriesIn(stored.messages)) {
    const { path } = withoutMetadata(documentAt(join(stored.messages, name)) ?? {});
    const cwd = stringOf(objectOf(path)["cwd"]);
    if (cwd !== null) return cwd;
  }
  return null;
}

function messagesOf(stored: Stored, writer: TranscriptWriter): readonly Part[] {
  return documentsIn(stored.messages, writer).toSorted((a, b) => timeOf(a) - timeOf(b) || (a.id < b.id ? -1 : 1));
}

function timeOf({ data }: Part): number {
  return numberOf(objectOf(withoutMetadata(data)["time"])["created"]) ?? 0;
}

function documentsIn(folder: string, writer: TranscriptWriter): readonly Part[] {
  return entriesIn(folder).flatMap(({ name }) => {
    const data = name.endsWith(".json") ? documentOf(join(folder, name), writer) : undefined;
    return data ? [{ id: basename(name, ".json"), data }] : [];
  });
}

/**
 * Returns the file of a place such as `part/prt_1`. For a message, the files of its parts follow, because they contain
 * its text.
 */
export function originalDocument(unit: Unit, from: string): Original {
  const { messages, parts } = storedOf(unit);
  const [kind, id = "", at] = from.split("/");
  if (kind === "session") return originalFile(unit.path);
  // This part is inside the file of its message.
  if (at !== undefined) return originalPart(join(messages, `${id}.json`), `parts/${at}`);
  if (kind === "message") {
    const message = originalFile(join(messages, `${id}.json`));
    const own = filesIn(join(parts, id)).map((path) => originalFile(path).text);
    return { ...message, text: message.text && [message.text, ...own].join("\n") };
  }
  const places = entriesIn(messages).map(({ name }) => join(parts, basename(name, ".json"), `${id}.json`));
  return originalFile(places.find((path) => isFile(path)) ?? join(parts, `${id}.json`));
}
