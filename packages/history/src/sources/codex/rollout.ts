/** Translates the records of a rollout, a file of a Codex thread. */
import { isObject, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import type { Block, CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";
import { createCopyGate, parentOf, type CopyGate, type TurnsOf } from "./copy-gate.ts";
import { createTokenCounts } from "./token-counts.ts";
import { agentText, blockOf, outputOf, userBlocks } from "./items.ts";

export interface Rollout {
  add(record: Value, from: string): void;
  /** Adds a record of the thread from which this thread was forked. */
  inherit(record: Value, from: string): void;
  /** Writes the open answer, whose parts were collected so far. Returns the id of the conversation's last line. */
  end(): string | null;
  /** Makes `line` the parent of the next line. */
  branch(line: string | null): void;
  finish(): void;
}

interface OpenAnswer {
  readonly content: Block[];
  readonly from: string;
  readonly at: string | null;
  spent?: Spent;
}

interface Spent {
  readonly call: string;
  readonly model: string;
  readonly tokens: CallTokens;
}

/** Events without content of their own. They repeat other records, or mark a beginning or an end. */
const repeats = new Set([
  "user_message",
  "agent_message",
  "agent_reasoning",
  "agent_reasoning_raw_content",
  "item_started",
  "context_compacted",
  "task_started",
  "task_complete",
  "turn_started",
  "turn_complete",
]);

export function createRollout(threadId: string, writer: TranscriptWriter, turnsOf: TurnsOf): Rollout {
  const counts = createTokenCounts();
  const copies = createCopyGate(threadId, turnsOf);
  const models = new Map<string, string>();
  let model = "";
  let isFirst = true;
  let open: OpenAnswer | undefined;
  /**
   * Tool results that are written after the open answer. They wait, because the record after a result may say that the
   * call failed.
   */
  let waiting: (() => void)[] = [];
  /** For each prompt of a person, the line before it. A rollback continues after this line. */
  const turns: (string | null)[] = [];
  let branchAt: string | null | undefined;
  const failed = new Set<string>();

  const positionOf = (from: string): string => `codex:${threadId}:${from.replace("line ", "")}`;
  const parent = (): { parent?: string | null } => {
    if (branchAt === undefined) return {};
    const at = branchAt;
    branchAt = undefined;
    return { parent: at };
  };
  const flush = (): void => {
    if (open) {
      const { content, from, at, spent = { call: positionOf(from), model, tokens: undefined } } = open;
      const stopReason = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
      writer.answer({ ...spent, content, at, from, stopReason, ...parent() });
    }
    open = undefined;
    const after = waiting;
    waiting = [];
    for (const write of after) write();
  };
  const answer = (block: Block, at: string | null, from: string): void => {
    if (waiting.length > 0) flush();
    open ??= { content: [], from, at };
    open.content.push(block);
  };
  const result = (callId: string, payload: Value, at: string | null, from: string): void => {
    const { content, isError, details } = outputOf(payload["output"]);
    const more = details === undefined ? {} : { details };
    waiting.push(
      () =>
        void writer.result(callId, content, {
          at,
          from,
          isError: isError || failed.has(callId),
          ...more,
          ...parent(),
        }),
    );
  };
  const prompt = (payload: Value, at: string | null, from: string, isCopy: boolean): void => {
    flush();
    const { content, isMeta } = userBlocks(payload);
    if (!isMeta) turns.push(branchAt === undefined ? writer.last : branchAt);
    writer.user(content, { at, from, isMeta: isMeta || (isCopy && copies.isSubagent), ...parent() });
  };
  const item = (payload: Value, at: string | null, from: string, isCopy: boolean): void => {
    const type = stringOf(payload["type"]) ?? "unknown";
    if (type === "message" && payload["role"] === "user") {
      prompt(payload, at, from, isCopy);
      return;
    }
    if (type.endsWith("_output")) {
      result(stringOf(payload["call_id"]) ?? from, payload, at, from);
      return;
    }
    if (type === "agent_message") {
      agentMessage(payload, at, from);
      return;
    }
    const block = blockOf(payload, from);
    if (!block) {
      flush();
      writer.other(type, withoutSecrets(payload), { at, from });
      return;
    }
    answer(block, at, from);
    // A web search by the model has no record for the result, so the status becomes the result.
    if (type === "web_search_call")
      result(String(block["id"]), { output: stringOf(payload["status"]) ?? "" }, at, from);
  };
  /**
   * Adds tokens to the open answer. If no answer is open, for example in a compaction, writes a call without a message.
   */
  const spend = (spent: Spent, at: string | null, from: string): void => {
    if (open && !open.spent) open.spent = spent;
    else writer.usage(spent.call, spent.model, spent.tokens, { at, from });
    flush();
  };
  const recordOf = (payload: Value, at: string | null, from: string, isCopy: boolean): void => {
    const owner = stringOf(payload["thread_id"]);
    const tokens = counts.record(payload["usage"]);
    if (!tokens || (owner === null ? isCopy : owner !== threadId)) return;
    const response = stringOf(payload["response_id"]);
    const call = response === null ? positionOf(from) : `codex:${response}`;
    spend({ call, model: models.get(stringOf(payload["turn_id"]) ?? "") ?? model, tokens }, at, from);
  };
  const agentMessage = (payload: Value, at: string | null, from: string): void => {
    flush();
    const text = agentText(payload);
    if (text === "") writer.other("agent_message", withoutSecrets(payload), { at, from });
    else writer.user(text, { at, from, isMeta: true, ...parent() });
  };
  const rollBack = (turnsBack: number): void => {
    flush();
    for (let count = 0; count < turnsBack; count += 1) {
      const start = turns.pop();
      if (start !== undefined) branchAt = start;
    }
  };
  /** Notes the id of a failed call. Items about commands, file changes and MCP tools contain this id. */
  const noteFailure = (done: Value): void => {
    const isFailed = done["status"] === "failed" || (numberOf(done["exit_code"]) ?? 0) !== 0;
    const id = stringOf(done["id"]);
    if (isFailed && id !== null) failed.add(id);
  };
  const event = (payload: Value, at: string | null, from: string, isCopy: boolean): void => {
    const type = stringOf(payload["type"]) ?? "unknown";
    if (type === "token_count") {
      const tokens = counts.read(payload["info"]);
      if (tokens && !isCopy) spend({ call: positionOf(open?.from ?? from), model, tokens }, at, from);
    } else if (type === "item_completed") noteFailure(objectOf(payload["item"]));
    else if (type === "thread_rolled_back") rollBack(numberOf(payload["num_turns"]) ?? 0);
    else if (!repeats.has(type)) {
      flush();
      writer.other(type, payload, { at, from });
    }
  };
  return {
    add(record, from) {
      const payload = isObject(record["payload"]) ? record["payload"] : undefined;
      const type = stringOf(record["type"]);
      const at = stringOf(record["timestamp"]);
      if (isFirst) {
        isFirst = false;
        const meta = type === "session_meta" ? (payload ?? {}) : record;
        begin(meta, threadId, writer, copies);
        if (payload === undefined && type === null) return;
        if (type === "session_meta") return;
      }
      const isCopy = copies.isCopy(record, payload ?? {});
      // The file of a subagent begins with a copy of the parent's conversation. The copy is not translated.
      if (isCopy && copies.isSubagent && !(type === "event_msg" && payload?.["type"] === "token_count")) return;
      translate(record, at, from, isCopy);
    },
    inherit(record, from) {
      if (!copies.isSubagent) translate(record, stringOf(record["timestamp"]), from, true);
    },
    end() {
      flush();
      return branchAt === undefined ? writer.last : branchAt;
    },
    branch: (line) => void (branchAt = line),
    finish: flush,
  };
  // oxlint-disable-next-line max-params
  function translate(record: Value, at: string | null, from: string, isCopy: boolean): void {
    const type = stringOf(record["type"]);
    const { payload } = record;
    if (!isObject(payload)) {
      // Before August 2025, a line was an item, without a payload.
      if (stringOf(record["role"]) ?? type?.includes("call") ?? type === "reasoning") item(record, at, from, isCopy);
      else writer.other(type ?? "unknown", record, { at, from });
      return;
    }
    if (type === "response_item") item(payload, at, from, isCopy);
    else if (type === "event_msg") event(payload, at, from, isCopy);
    else if (type === "turn_context") {
      model = stringOf(payload["model"]) ?? model;
      models.set(stringOf(payload["turn_id"]) ?? "", model);
      writer.place({ cwd: stringOf(payload["cwd"]) });
    } else if (type === "token_usage_record") recordOf(payload, at, from, isCopy);
    else if (type === "inter_agent_communication") agentMessage(payload, at, from);
    else if (type === "compacted") {
      flush();
      writer.compaction(stringOf(payload["message"]) || null, { at, from });
    } else if (type !== "session_meta") writer.other(type ?? "unknown", payload, { at, from });
  }
}

/** Removes encrypted text, which Skein cannot read. The original line keeps the text. */
function withoutSecrets({ encrypted_content: _encrypted, ...rest }: Value): Value {
  return rest;
}

function begin(meta: Value, threadId: string, writer: TranscriptWriter, copies: CopyGate): void {
  const { cwd, cli_version: version } = meta;
  writer.place({
    cwd: stringOf(cwd),
    version: stringOf(version),
    branch: stringOf(objectOf(meta["git"])["branch"]),
  });
  copies.begin(meta);
  const parent = parentOf(meta);
  if (copies.isSubagent && parent !== null && parent !== threadId) {
    const spawned = objectOf(meta["source"])["subagent"];
    const type = stringOf(meta["agent_role"]) ?? stringOf(spawned) ?? stringOf(objectOf(spawned)["other"]);
    writer.subagentOf({ sessionId: parent, type, description: stringOf(meta["agent_nickname"]) });
  }
}
