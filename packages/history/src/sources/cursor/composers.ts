/**
 * Reads chats of Cursor's editor in `state.vscdb`. The database also contains rows with credentials, which are never
 * read.
 */
import { arrayOf, isObject, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { inputOf } from "../codex/items.ts";
import { readDatabase, type OpenDatabase } from "../port/sqlite.ts";
import type { Found, Original, Unit } from "../port/source.ts";
import type { Block, TranscriptWriter } from "../port/transcript-writer.ts";

export function isEditorDatabase(path: string): boolean {
  try {
    return readDatabase(path, (database) => database.columns("cursorDiskKV").has("value"));
  } catch {
    return false;
  }
}

/**
 * Finds the chats. The query uses a range of keys, because a range uses the index and the database may have many
 * gigabytes.
 */
export function findComposers(path: string): Found {
  return readDatabase(path, (database) => {
    if (!database.columns("cursorDiskKV").has("value"))
      return { units: [], problems: [{ path, message: "a database whose tables Skein does not know" }] };
    const units: Unit[] = [];
    const sql = "SELECT key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;'";
    database.each(sql, [], ({ key, value }) => {
      const id = String(key).slice("composerData:".length);
      const data = valueOf(value);
      // If an id contains a newline, the row is a part of another row.
      if (!data || id.includes("\n") || headersOf(data).length === 0) return;
      const updated = numberOf(data["lastUpdatedAt"]) ?? numberOf(data["createdAt"]) ?? 0;
      const stamp = `${updated} ${headersOf(data).length}`;
      units.push({ id, root: path, path, bytes: 0, stamp, mtimeMs: updated, extra: { composer: true } });
    });
    return { units, problems: [] };
  });
}

function headersOf(data: Value): readonly Value[] {
  return arrayOf(data["fullConversationHeadersOnly"] ?? data["conversation"]).map(objectOf);
}

function valueOf(value: unknown): Value | undefined {
  if (typeof value !== "string" && !(value instanceof Uint8Array)) return undefined;
  try {
    const text = typeof value === "string" ? value : Buffer.from(value).toString("utf8");
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function rowOf(database: OpenDatabase, key: string): Value | undefined {
  const [row] = database.all("SELECT value FROM cursorDiskKV WHERE key = ?", key);
  return row && valueOf(row["value"]);
}

export function readComposer(unit: Unit, writer: TranscriptWriter): void {
  readDatabase(unit.path, (database) => {
    const data = rowOf(database, `composerData:${unit.id}`);
    if (!data) return;
    const { uri } = objectOf(data["workspaceIdentifier"]);
    const folder = objectOf(uri);
    writer.place({ cwd: stringOf(folder["fsPath"]) ?? stringOf(folder["path"]) });
    const model = stringOf(objectOf(data["modelConfig"])["modelName"]) ?? "";
    for (const header of headersOf(data)) {
      const id = stringOf(header["bubbleId"]);
      const bubble = id === null ? undefined : (rowOf(database, `bubbleId:${unit.id}:${id}`) ?? header);
      if (id !== null && bubble) writeBubble({ composer: unit.id, id, bubble, model }, writer);
    }
    writer.title(stringOf(data["name"]), `composerData:${unit.id}`);
  });
}

interface Bubble {
  readonly composer: string;
  readonly id: string;
  readonly bubble: Value;
  readonly model: string;
}

function writeBubble({ composer, id, bubble, model }: Bubble, writer: TranscriptWriter): void {
  const from = `bubbleId:${composer}:${id}`;
  const at = stringOf(bubble["createdAt"]) ?? numberOf(bubble["createdAt"]);
  const text = stringOf(bubble["text"]) ?? "";
  if (bubble["type"] === 1) {
    writer.user(text, { id, at, from });
    return;
  }
  const thinking = stringOf(objectOf(bubble["thinking"])["text"]);
  const tool = objectOf(bubble["toolFormerData"]);
  const callId = stringOf(tool["toolCallId"]) ?? `${composer}:${id}`;
  const name = stringOf(tool["name"]);
  const content: Block[] = [
    ...(thinking ? [{ type: "thinking", thinking }] : []),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...(name === null
      ? []
      : [{ type: "tool_use", id: callId, name, input: inputOf(tool["rawArgs"] ?? tool["params"]) }]),
  ];
  const named = stringOf(objectOf(bubble["modelInfo"])["modelName"]) ?? model;
  writer.answer({ call: `cursor:${composer}:${id}`, model: named, content, id, at, from });
  const result = stringOf(tool["result"]);
  if (name !== null && result !== null) {
    const isError = tool["status"] === "error";
    writer.result(callId, result, { id: `${id}:result`, at, from, isError });
  }
  const count = objectOf(bubble["tokenCount"]);
  // Cursor's counts are often 0 or differ from the bill, so they are stored but not added to the usage.
  if ((numberOf(count["inputTokens"]) ?? 0) + (numberOf(count["outputTokens"]) ?? 0) > 0)
    writer.other("reported-tokens", count, { at, from });
}

export function originalBubble({ path, id: composer }: Unit, from: string): Original {
  // Other keys may contain credentials, so they are not shown.
  if (!/^(bubbleId|composerData):/.test(from)) return { path, text: undefined };
  return readDatabase(path, (database) => {
    const value = rowOf(database, from) ?? inlineBubble(database, composer, from);
    // The row of the composer contains an encryption key, which is removed.
    return { path, text: value && JSON.stringify({ ...value, blobEncryptionKey: undefined }) };
  });
}

/** Returns a message from the row of the composer, in which older versions of Cursor stored the messages. */
function inlineBubble(database: OpenDatabase, composer: string, from: string): Value | undefined {
  const data = rowOf(database, `composerData:${composer}`);
  return data && headersOf(data).find(({ bubbleId }) => from === `bubbleId:${composer}:${String(bubbleId)}`);
}
