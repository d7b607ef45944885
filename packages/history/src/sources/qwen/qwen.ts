/** Reads the sessions of Qwen Code. Its records are like those of Claude Code, and contain parts of Google's API. */
import { basename, dirname, join } from "node:path";
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { eachRecord, entriesIn, filesNamed, isFolder, originalLine, unitOf } from "../port/files.ts";
import type { TranslatedSource, Problem, Unit } from "../port/source.ts";
import type { Block, CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";

const marks = ['"usageMetadata"'];

export const qwen: TranslatedSource = {
  name: "qwen",
  reads: "translated",
  roots({ env, homes }) {
    const given = env["QWEN_RUNTIME_DIR"] || env["QWEN_HOME"];
    return given ? [given] : homes.map((home) => join(home, ".qwen"));
  },
  owns: (path) => entriesIn(join(path, "projects")).some(({ name }) => isFolder(join(path, "projects", name, "chats"))),
  units(root) {
    const problems: Problem[] = [];
    const units = entriesIn(join(root, "projects"), problems).flatMap(({ name }): Unit[] => {
      const folder = join(root, "projects", name);
      // Archived sessions are in a folder inside `chats`. The file with the prompts of a session has a name with two
      // dots, so it does not match.
      const chats = filesNamed(join(folder, "chats"), /^[^.]+\.jsonl$/, problems, 1);
      const agents = filesNamed(join(folder, "subagents"), /^agent-.*\.jsonl$/, problems, 2);
      return [
        ...chats.map((path) => unitOf(root, path, basename(path, ".jsonl"))),
        ...agents.map((path) => {
          const parent = basename(dirname(path));
          return unitOf(root, path, `${parent}-${basename(path, ".jsonl")}`, { parent });
        }),
      ];
    });
    return { units, problems };
  },
  read(unit, writer) {
    const parent = stringOf(unit.extra?.["parent"]);
    if (parent !== null) writer.subagentOf({ sessionId: parent });
    eachRecord(unit.path, { writer, marks }, (record, from) => {
      if (record["subtype"] === "custom_title")
        writer.title(stringOf(objectOf(record["systemPayload"])["customTitle"]), from);
      else writeRecord(record, from, writer);
    });
  },
  original: ({ path }, from) => originalLine(path, from),
};

function writeRecord(record: Value, from: string, writer: TranscriptWriter): void {
  const id = stringOf(record["uuid"]) ?? from;
  const before = stringOf(record["parentUuid"]);
  writer.place({
    cwd: stringOf(record["cwd"]),
    branch: stringOf(record["gitBranch"]),
    version: stringOf(record["version"]),
  });
  const placed = {
    id,
    from,
    at: stringOf(record["timestamp"]),
    parent: before === null ? null : writer.uuidOf(before),
  };
  const parts = arrayOf(objectOf(record["message"])["parts"]).map(objectOf);
  if (record["type"] === "user") writer.user(parts.map(blockOf), placed);
  else if (record["type"] === "assistant") {
    const model = stringOf(record["model"]) ?? "";
    // A branch copies records and keeps their ids, so the call counts once.
    writer.answer({
      ...placed,
      call: `qwen:${id}`,
      model,
      content: parts.map(blockOf),
      tokens: tokensOf(record["usageMetadata"]),
    });
  } else if (record["type"] === "tool_result") {
    const response = objectOf(parts.map((part) => part["functionResponse"]).find((part) => part !== undefined));
    const result = objectOf(record["toolCallResult"]);
    const output = objectOf(response["response"]);
    const text = stringOf(output["output"]) ?? stringOf(output["error"]) ?? stringOf(result["resultDisplay"]) ?? "";
    const callId = stringOf(response["id"]) ?? stringOf(result["callId"]) ?? "";
    writer.result(callId, text, { ...placed, isError: result["status"] === "error", details: result });
  } else writer.other(stringOf(record["subtype"]) ?? String(record["type"]), record, placed);
}

function blockOf(part: Value): Block {
  const text = stringOf(part["text"]);
  if (text !== null) return part["thought"] === true ? { type: "thinking", thinking: text } : { type: "text", text };
  const call = objectOf(part["functionCall"]);
  if (typeof call["name"] === "string")
    return { type: "tool_use", id: call["id"], name: call["name"], input: objectOf(call["args"]) };
  const data = objectOf(part["inlineData"]);
  if (typeof data["data"] === "string")
    return { type: "image", source: { type: "base64", media_type: data["mimeType"], data: data["data"] } };
  return { ...part, type: "part" };
}

/**
 * Converts the counts. Some providers include thoughts in the candidates. The total of the record shows whether this
 * provider does.
 */
function tokensOf(value: unknown): CallTokens | undefined {
  const usage = objectOf(value);
  const of = (key: string): number => numberOf(usage[key]) ?? 0;
  const [prompt, output, thoughts, cached] = [
    of("promptTokenCount"),
    of("candidatesTokenCount"),
    of("thoughtsTokenCount"),
    of("cachedContentTokenCount"),
  ];
  if (prompt + output + thoughts === 0) return undefined;
  const isApart = thoughts > 0 && of("totalTokenCount") === prompt + output + thoughts;
  return {
    input: Math.max(0, prompt - cached),
    cacheRead: cached,
    output: output + (isApart ? thoughts : 0),
    reasoning: thoughts,
  };
}
