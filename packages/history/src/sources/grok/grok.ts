/** Reads the sessions of Grok Build. Each session has a folder with a file of messages and a log of updates. */
import { join } from "node:path";
import { arrayOf, isObject, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { inputOf } from "../codex/items.ts";
import {
  documentAt,
  eachRecord,
  entriesIn,
  isFile,
  originalFile,
  originalLine,
  stampOf,
  textAt,
} from "../port/files.ts";
import { SUM, type Found, type TranslatedSource, type Problem, type Unit } from "../port/source.ts";
import type { Block, TranscriptWriter } from "../port/transcript-writer.ts";

export const grok: TranslatedSource = {
  name: "grok",
  reads: "translated",
  roots: ({ env, homes }) => (env["GROK_HOME"] ? [env["GROK_HOME"]] : homes.map((home) => join(home, ".grok"))),
  owns: (path) =>
    entriesIn(join(path, "sessions")).some(
      ({ name }) => name.startsWith("%") || isFile(join(path, "sessions", name, ".cwd")),
    ),
  units: findSessions,
  read: readSession,
  original({ path }, from) {
    if (from === "summary.json") return originalFile(join(path, "..", from));
    return from.startsWith("updates ")
      ? originalLine(join(path, "..", "updates.jsonl"), from.slice("updates ".length))
      : originalLine(path, from);
  },
};

function findSessions(root: string): Found {
  const problems: Problem[] = [];
  const units: Unit[] = [];
  for (const project of entriesIn(join(root, "sessions"), problems)) {
    if (!project.isDirectory()) continue;
    const folder = join(root, "sessions", project.name);
    for (const entry of entriesIn(folder, problems)) {
      const [chat, updates, summary] = ["chat_history.jsonl", "updates.jsonl", "summary.json"].map((name) =>
        join(folder, entry.name, name),
      );
      if (!entry.isDirectory() || !chat || !updates || !summary || (!isFile(chat, problems) && !isFile(updates)))
        continue;
      const extra = { summary, updates, cwd: folderOf(folder, project.name) };
      units.push({ id: entry.name, root, path: chat, timed: updates, ...stampOf(chat, updates, summary), extra });
    }
  }
  return { units, problems };
}

function folderOf(folder: string, name: string): string | null {
  try {
    return name.startsWith("%") ? decodeURIComponent(name) : textAt(join(folder, ".cwd")).trim();
  } catch {
    return null;
  }
}

interface Times {
  readonly prompts: readonly number[];
  readonly calls: ReadonlyMap<string, number>;
  readonly results: ReadonlyMap<string, number>;
  readonly turns: ReadonlyMap<string, Turn>;
}

interface Turn {
  readonly usage: Value;
  readonly at: number;
  readonly from: string;
}

const marks = ["turn_completed"];

/** Reads the times of messages and the usage of each turn from the log of updates. The messages have no times. */
function timesIn(path: string, writer: TranscriptWriter): Times {
  const prompts = new Map<string, number>();
  const calls = new Map<string, number>();
  const results = new Map<string, number>();
  const turns = new Map<string, Turn>();
  if (!isFile(path)) return { prompts: [], calls, results, turns };
  eachRecord(path, { writer, marks }, (value, from) => {
    const params = objectOf(value["params"]);
    const update = objectOf(params["update"]);
    const about = objectOf(params["_meta"]);
    // A fork copies the log and gives the lines new times, but keeps `agentTimestampMs`.
    const at = numberOf(about["agentTimestampMs"]) ?? (numberOf(value["timestamp"]) ?? 0) * 1000;
    const prompt = stringOf(about["promptId"]) ?? "";
    const call = stringOf(update["toolCallId"]) ?? "";
    const kind = update["sessionUpdate"];
    if (kind === "user_message_chunk" && !prompts.has(prompt)) prompts.set(prompt, at);
    else if (kind === "tool_call") calls.set(call, at);
    else if (kind === "tool_call_update") results.set(call, at);
    else if (kind === "turn_completed" && isObject(update["usage"]))
      turns.set(stringOf(update["prompt_id"]) ?? from, { usage: update["usage"], at, from: `updates ${from}` });
  });
  return { prompts: [...prompts.values()], calls, results, turns };
}

function readSession(unit: Unit, writer: TranscriptWriter): void {
  const summary = documentAt(String(unit.extra?.["summary"])) ?? {};
  const info = objectOf(summary["info"]);
  writer.place({
    cwd: stringOf(info["cwd"]) ?? stringOf(unit.extra?.["cwd"]),
    branch: stringOf(summary["head_branch"]),
  });
  const parent = stringOf(summary["parent_session_id"]);
  const isSubagent = parent !== null && String(summary["session_kind"]).startsWith("subagent");
  if (isSubagent) writer.subagentOf({ sessionId: parent, description: stringOf(summary["session_summary"]) });
  if (writer.wants === "head") return;
  const times = timesIn(String(unit.extra?.["updates"]), writer);
  const model = stringOf(summary["current_model_id"]) ?? "";
  if (writer.wants === "transcript" && isFile(unit.path)) {
    const messages = createMessages(unit.id, writer, times, stringOf(summary["created_at"]));
    eachRecord(unit.path, { writer }, (value, from) => messages.add(value, from));
    messages.finish();
  }
  for (const [id, turn] of times.turns) {
    // The turn of the parent includes the usage of this subagent, so the usage is not counted again.
    if (isSubagent) writer.other("turn-usage", turn.usage, turn);
    else writeUsage(`grok:${id}`, turn, model, writer);
  }
  writer.title(stringOf(summary["generated_title"]) ?? stringOf(summary["session_summary"]), "summary.json");
}

function writeUsage(call: string, { usage, at, from }: Turn, model: string, writer: TranscriptWriter): void {
  const byModel = Object.entries(objectOf(usage["modelUsage"]));
  for (const [name, each] of byModel.length > 0 ? byModel : [[model, usage] as const]) {
    const of = (key: string): number => numberOf(objectOf(each)[key]) ?? 0;
    const [cacheRead, cacheWrite] = [of("cachedReadTokens"), of("cacheCreationTokens")];
    const input = Math.max(0, of("inputTokens") - cacheRead - cacheWrite);
    const ticks = numberOf(objectOf(each)["costUsdTicks"]);
    const tokens = { input, cacheRead, cacheWrite, output: of("outputTokens"), reasoning: of("reasoningTokens") };
    // Most turns are sums of several calls. Only a turn with one call gets an id that does not begin with `SUM`.
    const id = numberOf(usage["modelCalls"]) === 1 ? call : `${SUM}${call}`;
    writer.usage(`${id}:${name}`, name, tokens, { at, from, ...(ticks !== null && { reportedUsd: ticks / 1e10 }) });
  }
}

function createMessages(id: string, writer: TranscriptWriter, times: Times, start: string | null) {
  let thinking: Block[] = [];
  let lastThought = "";
  let at: number | string | null = start;
  let prompts = 0;
  const answer = (content: readonly Block[], model: string, from: string): void => {
    writer.answer({ call: `grok:${id}:${from}`, model, content: [...thinking, ...content], at, from });
    thinking = [];
  };
  return {
    add(value: Value, from: string): void {
      const { type } = value;
      if (type === "user") {
        const text = textOf(value["content"]);
        const isMeta = value["synthetic_reason"] !== undefined;
        if (!isMeta) {
          at = times.prompts[numberOf(value["prompt_index"]) ?? prompts] ?? at;
          prompts += 1;
        }
        writer.user(/<user_query>\s*([\s\S]*?)\s*<\/user_query>/.exec(text)?.[1] ?? text, { at, from, isMeta });
      } else if (type === "reasoning") {
        const text = textOf(value["summary"]);
        if (text !== "") thinking.push({ type: "thinking", thinking: text });
        lastThought = from;
      } else if (type === "assistant") {
        const calls = arrayOf(value["tool_calls"]).map(objectOf);
        const text = stringOf(value["content"]) ?? "";
        at = times.calls.get(stringOf(calls[0]?.["id"]) ?? "") ?? at;
        const uses = calls.map((call) => ({
          type: "tool_use",
          id: call["id"],
          name: call["name"],
          input: inputOf(call["arguments"]),
        }));
        answer([...(text === "" ? [] : [{ type: "text", text }]), ...uses], stringOf(value["model_id"]) ?? "", from);
      } else if (type === "tool_result") {
        const call = stringOf(value["tool_call_id"]) ?? "";
        at = times.results.get(call) ?? at;
        writer.result(call, value["content"], { at, from });
      } else writer.other(String(type), value, { at, from });
    },
    finish(): void {
      if (thinking.length > 0) answer([], "", lastThought);
    },
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return arrayOf(content)
    .flatMap((part) => stringOf(objectOf(part)["text"]) ?? [])
    .join("\n");
}
