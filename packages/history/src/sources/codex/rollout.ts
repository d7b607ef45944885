/** Translates the records of a rollout. */
import { isObject, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import type { Block, CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";
import { createTokenCounts } from "./token-counts.ts";
import { blockOf, outputOf, userBlocks } from "./items.ts";

export interface Rollout {
  add(record: Value, from: string): void;
  finish(): void;
}

interface OpenAnswer {
  readonly content: Block[];
  readonly from: string;
  readonly at: string | null;
  tokens?: CallTokens;
}

/** Events that repeat the content of a response item. */
const repeats = new Set([
  "user_message",
  "agent_message",
  "agent_reasoning",
  "agent_reasoning_raw_content",
  "item_completed",
  "item_started",
  "context_compacted",
  "task_started",
  "task_complete",
  "turn_started",
  "turn_complete",
]);

/** `turnsOf` has the ids of all turns of another thread, or undefined if that thread does not exist. */
export function createRollout(
  threadId: string,
  writer: TranscriptWriter,
  turnsOf: (threadId: string) => ReadonlySet<string> | undefined,
): Rollout {
  const counts = createTokenCounts();
  const copies = createCopyGate(turnsOf);
  let model = "";
  let isFirst = true;
  let open: OpenAnswer | undefined;
  /** Lines that must be written after the open answer. */
  let waiting: (() => void)[] = [];
  /** The parent line of each turn of a person, for rolling back. */
  const turns: (string | null)[] = [];
  let branchAt: string | null | undefined;

  const parent = (): { parent?: string | null } => {
    if (branchAt === undefined) return {};
    const at = branchAt;
    branchAt = undefined;
    return { parent: at };
  };
  const flush = (): void => {
    if (open) {
      const { content, from, at, tokens } = open;
      const call = `codex:${threadId}:${from.replace("line ", "")}`;
      const stopReason = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
      writer.answer({ call, model, content, tokens, at, from, stopReason, ...parent() });
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
    const write = (): void =>
      void writer.result(callId, content, {
        at,
        from,
        isError,
        ...(details !== undefined && { details }),
        ...parent(),
      });
    if (open) waiting.push(write);
    else write();
  };
  const prompt = (payload: Value, at: string | null, from: string, isCopy: boolean): void => {
    flush();
    const { content, isMeta } = userBlocks(payload["content"]);
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
    const block = blockOf(payload, from);
    if (!block) {
      flush();
      // Encrypted text cannot be read here; the original line has it.
      const { encrypted_content: _encrypted, ...rest } = payload;
      writer.other(type, rest, { at, from });
      return;
    }
    answer(block, at, from);
    // The model's own search has no result of its own.
    if (type === "web_search_call")
      result(String(block["id"]), { output: stringOf(payload["status"]) ?? "" }, at, from);
  };
  const rollBack = (turnsBack: number): void => {
    flush();
    for (let count = 0; count < turnsBack; count += 1) {
      const start = turns.pop();
      if (start !== undefined) branchAt = start;
    }
  };
  const event = (payload: Value, at: string | null, from: string, isCopy: boolean): void => {
    const type = stringOf(payload["type"]) ?? "unknown";
    if (type === "token_count") {
      const tokens = counts.read(payload["info"]);
      if (!tokens || isCopy) return;
      if (open && !open.tokens) open.tokens = tokens;
      else writer.usage(`codex:${threadId}:${from.replace("line ", "")}`, model, tokens, { at, from });
      flush();
    } else if (type === "thread_rolled_back") rollBack(numberOf(payload["num_turns"]) ?? 0);
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
      const isCopy = copies.isCopy(type, payload ?? {}, at);
      // A subagent's file begins with a copy of its parent's conversation. Only its own part is translated.
      if (isCopy && copies.isSubagent && !(type === "event_msg" && payload?.["type"] === "token_count")) return;
      if (payload === undefined) {
        // Before August 2025, the items were directly in the lines.
        if (stringOf(record["role"]) ?? type?.includes("call") ?? type === "reasoning") item(record, at, from, isCopy);
        else writer.other(type ?? "unknown", record, { at, from });
        return;
      }
      if (type === "response_item") item(payload, at, from, isCopy);
      else if (type === "event_msg") event(payload, at, from, isCopy);
      else if (type === "turn_context") {
        model = stringOf(payload["model"]) ?? model;
        writer.place({ cwd: stringOf(payload["cwd"]) });
      } else if (type === "compacted") {
        flush();
        writer.compaction(stringOf(payload["message"]) || null, { at, from });
      } else if (type !== "session_meta") writer.other(type ?? "unknown", payload, { at, from });
    },
    finish: flush,
  };
}

function begin(meta: Value, threadId: string, writer: TranscriptWriter, copies: CopyGate): void {
  const { cwd, cli_version: version, forked_from_id: fork, source } = meta;
  writer.place({
    cwd: stringOf(cwd),
    version: stringOf(version),
    branch: stringOf(objectOf(meta["git"])["branch"]),
  });
  const spawned = objectOf(source)["subagent"];
  const parent = parentOf(meta);
  const isSubagent = spawned !== undefined || meta["thread_source"] === "subagent";
  if (isSubagent && parent !== null && parent !== threadId) {
    const type = stringOf(meta["agent_role"]) ?? stringOf(spawned);
    writer.subagentOf({ sessionId: parent, type, description: stringOf(meta["agent_nickname"]) });
  }
  copies.begin(stringOf(fork) ?? parent, isSubagent);
}

/** The thread that started this one. */
function parentOf(meta: Value): string | null {
  const spawn = objectOf(objectOf(objectOf(meta["source"])["subagent"])["thread_spawn"]);
  return stringOf(meta["parent_thread_id"]) ?? stringOf(spawn["parent_thread_id"]);
}

interface CopyGate {
  readonly isSubagent: boolean;
  begin(parentId: string | null, isSubagent: boolean): void;
  isCopy(type: string | null, payload: Value, at: string | null): boolean;
}

/**
 * Finds which lines of a fork were copied from its parent: all up to the first turn that the parent does not have. If
 * the parent's file is missing: all lines that were written in one burst.
 */
function createCopyGate(turnsOf: (threadId: string) => ReadonlySet<string> | undefined): CopyGate {
  let parentTurns: ReadonlySet<string> | undefined;
  let isOpen = false;
  let isSubagent = false;
  let lastTime = Number.NaN;
  return {
    get isSubagent() {
      return isSubagent;
    },
    begin(parentId, subagent) {
      isSubagent = subagent;
      isOpen = parentId !== null;
      parentTurns = parentId === null ? undefined : turnsOf(parentId);
    },
    isCopy(type, payload, at) {
      if (!isOpen) return false;
      const time = Date.parse(at ?? "");
      const turn = stringOf(payload["turn_id"]);
      if (parentTurns) {
        // `task_started` comes before the context of its turn.
        const names =
          type === "turn_context" || payload["type"] === "task_started" || payload["type"] === "turn_started";
        if (names && turn !== null && !parentTurns.has(turn)) isOpen = false;
      } else if (time - lastTime > 1000) isOpen = false;
      lastTime = time;
      return isOpen;
    },
  };
}
