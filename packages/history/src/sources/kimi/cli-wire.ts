/**
 * Translates the wire (the log of protocol messages) of Kimi CLI. A turn has steps. A step has parts, tool calls, and
 * its tokens at the end.
 */
import { numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { inputOf } from "../codex/items.ts";
import { textOf } from "../gemini/chat.ts";
import type { Block, CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";

export interface Wire {
  add(record: Value, from: string): void;
  finish(): void;
}

interface Step {
  readonly content: Block[];
  readonly results: (() => void)[];
  readonly from: string;
  readonly at: number | null;
  tokens?: CallTokens;
  call?: string;
}

/** Collects an answer and its tool results until the usage of the answer is known. */
export function createSteps(sessionId: string, writer: TranscriptWriter) {
  let step: Step | undefined;
  const close = (model: string): void => {
    if (!step) return;
    const { content, from, at, tokens, results, call = `kimi:${sessionId}:${from}` } = step;
    step = undefined;
    const stopReason = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
    if (content.length > 0 || tokens) writer.answer({ call, model, content, tokens, at, from, stopReason });
    for (const write of results) write();
  };
  return {
    close,
    block(block: Block, at: number | null, from: string): void {
      step ??= { content: [], results: [], from, at };
      step.content.push(block);
    },
    result(write: () => void): void {
      if (step) step.results.push(write);
      else write();
    },
    /** Adds tokens to the open answer. Returns false if no answer is open, or if it already has tokens. */
    tokens(tokens: CallTokens, call?: string): boolean {
      if (!step || step.tokens) return false;
      step.tokens = tokens;
      if (call !== undefined) step.call = call;
      return true;
    },
    get isAnswered() {
      return step !== undefined && (step.results.length > 0 || step.tokens !== undefined);
    },
  };
}

/**
 * Makes the id of a model call from its token counts and from names in its record, so that a copy in a fork does not
 * count again. Returns undefined if a part of the id is missing.
 */
export function callOf(names: readonly (string | number | null)[], tokens: CallTokens): string | undefined {
  if (names.includes(null)) return undefined;
  const { input, output, cacheRead, cacheWrite } = tokens;
  return ["kimi", ...names, input, output, cacheRead, cacheWrite].join(":");
}

export function createCliWire(sessionId: string, writer: TranscriptWriter): Wire {
  const steps = createSteps(sessionId, writer);
  // Kimi CLI does not record which model answered.
  const model = "";
  const block = (value: Block, at: number | null, from: string): void => steps.block(value, at, from);
  return {
    add(record, from) {
      const message = objectOf(record["message"]);
      const payload = objectOf(message["payload"]);
      const seconds = numberOf(record["timestamp"]);
      const at = seconds === null ? null : seconds * 1000;
      switch (message["type"]) {
        case "TurnBegin": {
          steps.close(model);
          const { user_input: input } = payload;
          writer.user(typeof input === "string" ? input : textOf(input), { at, from });
          return;
        }
        case "StepBegin":
        case "TurnEnd":
          steps.close(model);
          return;
        case "ContentPart": {
          const thinking = stringOf(payload["think"]);
          const text = stringOf(payload["text"]);
          block(thinking === null ? { type: "text", text: text ?? "" } : { type: "thinking", thinking }, at, from);
          return;
        }
        case "ToolCall": {
          const call = objectOf(payload["function"]);
          block(
            { type: "tool_use", id: payload["id"], name: call["name"], input: inputOf(call["arguments"]) },
            at,
            from,
          );
          return;
        }
        case "ToolResult": {
          const value = objectOf(payload["return_value"]);
          const text = stringOf(value["output"]) ?? textOf(value["output"]);
          const callId = stringOf(payload["tool_call_id"]) ?? "";
          steps.result(() => void writer.result(callId, text, { at, from, isError: value["is_error"] === true }));
          return;
        }
        case "StatusUpdate": {
          const tokens = tokensOf(objectOf(payload["token_usage"]));
          if (!tokens) return;
          const call = callOf([stringOf(payload["message_id"]) ?? at], tokens) ?? `kimi:${sessionId}:${from}`;
          if (!steps.tokens(tokens, call)) writer.usage(call, model, tokens, { at, from });
          return;
        }
        case undefined:
          return;
        default:
          writer.other(String(message["type"]), payload, { at, from });
      }
    },
    finish: () => steps.close(model),
  };
}

function tokensOf(usage: Value): CallTokens | undefined {
  const of = (key: string): number => numberOf(usage[key]) ?? 0;
  const tokens = {
    input: of("input_other"),
    output: of("output"),
    cacheRead: of("input_cache_read"),
    cacheWrite: of("input_cache_creation"),
  };
  return tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite > 0 ? tokens : undefined;
}
