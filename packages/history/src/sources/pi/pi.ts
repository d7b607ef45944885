/** Reads the sessions of pi. Each session is a file of JSON lines, and its entries form a tree. */
import { basename, join } from "node:path";
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { eachRecord, entriesIn, filesNamed, isFolder, originalLine, unitOf } from "../port/files.ts";
import type { TranslatedSource, Problem, Unit } from "../port/source.ts";
import type { Block, CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";

export const pi: TranslatedSource = {
  name: "pi",
  reads: "translated",
  roots({ env, homes }) {
    const sessions = env["PI_CODING_AGENT_SESSION_DIR"];
    if (sessions) return [sessions];
    const folder = env["PI_CODING_AGENT_DIR"];
    return folder ? [folder] : homes.map((home) => join(home, ".pi", "agent"));
  },
  owns: (path) =>
    [path, join(path, "sessions")].some((folder) => entriesIn(folder).some(({ name }) => /^--.*--$/.test(name))),
  units(root) {
    const problems: Problem[] = [];
    const folder = isFolder(join(root, "sessions")) ? join(root, "sessions") : root;
    const units = filesNamed(folder, /^.+_[^_]+\.jsonl$/, problems, 3).map((path) =>
      unitOf(root, path, basename(path, ".jsonl").replace(/^.*_/, "")),
    );
    return { units, problems };
  },
  read: readSession,
  original: ({ path }, from) => originalLine(path, from),
};

const marks = ['"usage"', '"assistant"', '"model_change"'];

function readSession(unit: Unit, writer: TranscriptWriter): void {
  const tree = createTree(unit.id, writer);
  eachRecord(unit.path, { writer, marks }, (entry, from) => tree.add(entry, from));
}

function createTree(sessionId: string, writer: TranscriptWriter) {
  /** The written line of each entry. An entry that writes no line has the line of its parent. */
  const lines = new Map<string, string | null>();
  let model = "";
  let provider = "";
  let calls = 0;

  const callOf = (entry: Value, usage: Value, responseId: string | null): string => {
    if (responseId !== null) return `pi:${provider}:${responseId}`;
    calls += 1;
    const id = stringOf(entry["id"]) ?? `${sessionId}:${calls}`;
    return ["pi", id, entry["timestamp"], usage["input"], usage["output"], usage["cacheRead"]].map(String).join(":");
  };
  const extraUsage = (entry: Value, holder: Value, from: string): void => {
    const usage = objectOf(holder["usage"]);
    const tokens = tokensOf(usage);
    if (!tokens) return;
    const name = stringOf(entry["model"]) ?? model;
    writer.usage(callOf(entry, usage, null), name, tokens, { at: stringOf(entry["timestamp"]), from, ...paid(usage) });
  };
  const message = (entry: Value, placed: Placed): void => {
    const value = objectOf(entry["message"]);
    const { role } = value;
    if (role === "user") writer.user(contentOf(value["content"]), placed);
    else if (role === "assistant") {
      model = stringOf(value["model"]) ?? model;
      provider = stringOf(value["provider"]) ?? provider;
      const usage = objectOf(value["usage"]);
      const content = arrayOf(value["content"]).map(objectOf).map(blockOf);
      const call = callOf(entry, usage, stringOf(value["responseId"]));
      const stopReason = stringOf(value["stopReason"]);
      writer.answer({ ...placed, call, model, content, tokens: tokensOf(usage), stopReason, ...paid(usage) });
    } else if (role === "toolResult") {
      const details = value["details"];
      const result = { ...placed, isError: value["isError"] === true, ...(details !== undefined && { details }) };
      writer.result(stringOf(value["toolCallId"]) ?? "", contentOf(value["content"]), result);
      extraUsage(entry, value, placed.from);
    } else if (role === "bashExecution") {
      const text = `<bash-input>${String(value["command"])}</bash-input><bash-stdout>${String(value["output"])}</bash-stdout>`;
      writer.user(text, { ...placed, isMeta: true });
    } else writer.other(`message-${String(role)}`, value, placed);
  };
  const add = (entry: Value, from: string): void => {
    const type = stringOf(entry["type"]) ?? "unknown";
    const at = stringOf(entry["timestamp"]) ?? numberOf(objectOf(entry["message"])["timestamp"]);
    const id = stringOf(entry["id"]) ?? undefined;
    if (type === "session") {
      writer.place({ cwd: stringOf(entry["cwd"]), version: `format ${numberOf(entry["version"]) ?? 1}` });
      model = stringOf(entry["modelId"]) ?? model;
      return;
    }
    const parentId = stringOf(entry["parentId"]);
    // Entries in the first version of the format have no ids, and follow the previous entry.
    const parent = id === undefined ? writer.last : parentId === null ? null : (lines.get(parentId) ?? null);
    const before = writer.last;
    const placed: Placed = { at, from, parent, ...(id !== undefined && { id }) };
    if (type === "message") message(entry, placed);
    else if (type === "compaction") {
      writer.compaction(stringOf(entry["summary"]), placed);
      extraUsage(entry, entry, from);
    } else if (type === "branch_summary") {
      writer.user(stringOf(entry["summary"]) ?? "", { ...placed, isMeta: true });
      extraUsage(entry, entry, from);
    } else if (type === "usage") extraUsage(entry, entry, from);
    else if (type === "session_info") writer.title(stringOf(entry["name"]), from);
    else {
      if (type === "model_change") model = stringOf(entry["modelId"]) ?? model;
      writer.other(type, entry, placed);
    }
    if (id !== undefined) lines.set(id, writer.last === before ? parent : writer.last);
  };
  return { add };
}

interface Placed {
  readonly at: string | number | null;
  readonly from: string;
  readonly parent: string | null;
  readonly id?: string;
}

function paid(usage: Value): { readonly reportedUsd?: number } {
  const total = numberOf(objectOf(usage["cost"])["total"]);
  return total === null || total === 0 ? {} : { reportedUsd: total };
}

function tokensOf(usage: Value): CallTokens | undefined {
  const of = (key: string): number => numberOf(usage[key]) ?? 0;
  const [input, output, cacheRead, cacheWrite] = [of("input"), of("output"), of("cacheRead"), of("cacheWrite")];
  if (input + output + cacheRead + cacheWrite === 0) return undefined;
  return { input, output, cacheRead, cacheWrite, cacheWrite1h: of("cacheWrite1h"), reasoning: of("reasoning") };
}

function contentOf(content: unknown): string | readonly Block[] {
  if (typeof content === "string") return content;
  return arrayOf(content).map(objectOf).map(blockOf);
}

function blockOf(part: Value): Block {
  switch (part["type"]) {
    case "thinking":
      return { type: "thinking", thinking: stringOf(part["thinking"]) ?? "" };
    case "toolCall":
      return { type: "tool_use", id: part["id"], name: part["name"], input: objectOf(part["arguments"]) };
    case "image":
      return { type: "image", source: { type: "base64", media_type: part["mimeType"], data: part["data"] } };
    default:
      return part;
  }
}
