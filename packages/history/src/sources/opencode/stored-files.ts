/** Sessions that opencode kept as files before it had a database: `session`, `message` and `part` below `storage`. */
import { basename, join } from "node:path";
import { numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { documentAt, documentOf, entriesIn } from "../port/files.ts";
import type { Unit } from "../port/source.ts";
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

export function originalFile(unit: Unit, from: string): string | undefined {
  const storage = String(unit.extra?.["storage"]);
  const [kind, id = ""] = from.split("/");
  let found: Value | undefined;
  if (kind === "session") found = documentAt(unit.path);
  else if (kind === "message") found = documentAt(join(storage, "message", unit.id, `${id}.json`));
  else
    for (const { name } of entriesIn(join(storage, "message", unit.id)))
      found ??= documentAt(join(storage, "part", basename(name, ".json"), `${id}.json`));
  return found && JSON.stringify(found);
}
