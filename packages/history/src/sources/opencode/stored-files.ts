/** Sessions that opencode kept as files before it had a database: `session`, `message` and `part` below `storage`. */
import { basename, join } from "node:path";
import { numberOf, objectOf, stringOf } from "../../model/value.ts";
import { documentOf, entriesIn, isFile, originalFile } from "../port/files.ts";
import type { Original, Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";
import { writeMessage, type Part } from "./messages.ts";

export function fileSession(unit: Unit, writer: TranscriptWriter): void {
  const session = documentOf(unit.path, writer);
  if (!session) return;
  const storage = String(unit.extra?.["storage"]);
  writer.place({ cwd: stringOf(session["directory"]), version: stringOf(session["version"]) });
  const parent = stringOf(session["parentID"]);
  if (parent !== null) writer.subagentOf({ sessionId: parent, description: stringOf(session["title"]) });
  if (writer.wants === "head") return;
  const messages = documentsIn(join(storage, "message", unit.id), writer).toSorted(byTime);
  for (const { id, data } of messages) writeMessage(id, data, documentsIn(join(storage, "part", id), writer), writer);
  writer.title(stringOf(session["title"]), `session/${unit.id}`);
}

function documentsIn(folder: string, writer: TranscriptWriter): readonly Part[] {
  return entriesIn(folder).flatMap(({ name }) => {
    const data = name.endsWith(".json") ? documentOf(join(folder, name), writer) : undefined;
    return data ? [{ id: basename(name, ".json"), data }] : [];
  });
}

function byTime(a: Part, b: Part): number {
  const at = ({ data }: Part): number => numberOf(objectOf(data["time"])["created"]) ?? 0;
  return at(a) - at(b) || (a.id < b.id ? -1 : 1);
}

/** The file that `part/prt_1` names. The files of a message's parts, which have its text, follow it. */
export function originalDocument(unit: Unit, from: string): Original {
  const storage = String(unit.extra?.["storage"]);
  const [kind, id = ""] = from.split("/");
  if (kind === "session") return originalFile(unit.path);
  const messages = join(storage, "message", unit.id);
  if (kind === "message") {
    const message = originalFile(join(messages, `${id}.json`));
    const folder = join(storage, "part", id);
    const parts = entriesIn(folder).map(({ name }) => originalFile(join(folder, name)).text);
    return { ...message, text: message.text && [message.text, ...parts].join("\n") };
  }
  const places = entriesIn(messages).map(({ name }) => join(storage, "part", basename(name, ".json"), `${id}.json`));
  return originalFile(places.find((path) => isFile(path)) ?? join(storage, "part", `${id}.json`));
}
