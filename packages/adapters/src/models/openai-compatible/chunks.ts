import { type AnswerStream, ModelFailure, type ModelReply, parsedOrUndefined } from "@skein/core";
import { type JsonObject, type Usage, isJsonObject } from "@skein/protocol";
import { countedUsage, objectIn } from "../counted-usage.ts";
import { cutStream, streamFailure } from "../failures-of-openai.ts";

interface OpenCall {
  readonly block: number;
  readonly id: string | undefined;
  readonly index: number | undefined;
  input: string;
}

/**
 * The fields in which servers send reasoning. If a server sends its reasoning in two fields, the first field is used.
 */
const REASONING = ["reasoning_content", "reasoning", "reasoning_text"];

/** Reads the chunks of a Chat Completions stream. Accepts the variants of servers that are not OpenAI's. */
export function createChunkReader(answer: AnswerStream, newId: (call: number) => string) {
  const calls: OpenCall[] = [];
  const byIndex = new Map<number, OpenCall>();
  const details: unknown[] = [];
  let thinking: number | undefined;
  let finish: string | undefined;
  let usage: Usage | undefined;

  function think(piece: string): void {
    thinking = answer.thinking(piece);
  }

  function addReasoning(delta: JsonObject): void {
    const told = REASONING.find((key) => typeof delta[key] === "string" && delta[key] !== "");
    if (told !== undefined) think(delta[told] as string);
    if (!Array.isArray(delta["reasoning_details"])) return;
    for (const detail of delta["reasoning_details"] as unknown[]) {
      details.push(detail);
      const { text, summary } = isJsonObject(detail) ? detail : {};
      const piece = text ?? summary;
      if (told === undefined && typeof piece === "string") think(piece);
    }
  }

  function addContent(content: unknown): void {
    if (typeof content === "string" && content !== "") answer.text(content);
    if (!Array.isArray(content)) return;
    // Mistral sends thinking as a part of the content.
    for (const part of content.filter(isJsonObject)) {
      if (part["type"] === "text") addContent(part["text"]);
      if (part["type"] === "thinking") for (const piece of textsIn(part["thinking"])) think(piece);
    }
  }

  /**
   * Returns the tool call to which a delta belongs, and begins this call if it is new. Returns undefined if the delta
   * belongs to no tool call.
   */
  function callOf(delta: JsonObject): OpenCall | undefined {
    const index = typeof delta["index"] === "number" ? delta["index"] : undefined;
    const id = filled(delta["id"]);
    const name = filled(objectIn(delta, "function")["name"]);
    const same = id === undefined ? undefined : calls.findLast((call) => call.id === id);
    const known = same ?? (index === undefined ? calls.at(-1) : byIndex.get(index));
    if (known && (name === undefined || !isAnother(known, { same, id, index, delta }))) return known;
    if (id === undefined && name === undefined) return undefined;
    const block = answer.call({ id: id ?? newId(calls.length), name: name ?? "" });
    const call = { id, index, block, input: "" };
    calls.push(call);
    if (index !== undefined) byIndex.set(index, call);
    return call;
  }

  function addCall(delta: unknown): void {
    if (!isJsonObject(delta)) return;
    const call = callOf(delta);
    const input = inputIn(delta);
    if (!call || input === undefined) return;
    call.input += input;
    answer.input(call.block, input);
  }

  return {
    add(data: string): void {
      if (data === "[DONE]") return;
      const chunk = parsedOrUndefined(data) as JsonObject | undefined;
      if (!chunk) throw new SyntaxError("A chunk of the stream is not JSON.");
      if (chunk["error"]) throw streamFailure(chunk["error"]);
      answer.begin();
      usage = usageOf(chunk["usage"]) ?? usage;
      const [choice] = Array.isArray(chunk["choices"]) ? (chunk["choices"] as unknown[]) : [];
      if (!isJsonObject(choice)) return;
      const delta = objectIn(choice, "delta");
      addReasoning(delta);
      addContent(delta["content"]);
      addContent(delta["refusal"]);
      if (Array.isArray(delta["tool_calls"])) for (const call of delta["tool_calls"] as unknown[]) addCall(call);
      if (typeof choice["finish_reason"] === "string") finish = choice["finish_reason"];
    },
    end(): ModelReply {
      if (finish === undefined) throw cutStream();
      if (BROKEN_OFF.has(finish)) throw brokenOff(finish, usage);
      if (details.length > 0) {
        const data = { reasoning_details: details };
        if (thinking === undefined) answer.opaque(data);
        else answer.carry(thinking, data);
      }
      return answer.end(stopOf(finish, answer.hasCalls()), usage);
    },
  };
}

/**
 * Decides whether a delta with a tool's name begins a new tool call or continues the known one. Some servers repeat the
 * name in every delta. Some give all calls the same index or id.
 */
function isAnother(
  known: OpenCall,
  told: Pick<OpenCall, "id" | "index"> & { readonly same: OpenCall | undefined; readonly delta: JsonObject },
): boolean {
  const { same, id, index, delta } = told;
  const isElsewhere = index !== undefined && same?.index !== undefined && index !== same.index;
  if (isElsewhere || (!same && (id !== undefined || index === undefined))) return true;
  // Nothing can follow a complete input, so this input begins a new call.
  return filled(inputIn(delta)) !== undefined && isJsonObject(parsedOrUndefined(known.input));
}

/** Returns the input in a delta. Some servers send an object instead of a piece of text. */
function inputIn(delta: JsonObject): string | undefined {
  const { arguments: input } = objectIn(delta, "function");
  if (input === undefined || input === null) return undefined;
  return typeof input === "string" ? input : JSON.stringify(input);
}

function filled(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function textsIn(thinking: unknown): readonly string[] {
  const parts: readonly unknown[] = Array.isArray(thinking) ? thinking : [{ text: thinking }];
  return parts.flatMap((part) => (isJsonObject(part) ? (filled(part["text"]) ?? []) : []));
}

/** The finish reasons for an answer that the server could not finish. */
const BROKEN_OFF = new Set(["error", "abort", "insufficient_system_resource"]);

function brokenOff(finish: string, usage: Usage | undefined): ModelFailure {
  const message = `The model's server broke the answer off (finish reason "${finish}").`;
  return new ModelFailure({ code: "api_error", message }, { retryable: true, begun: usage && { usage, whole: true } });
}

/** Converts the finish reason. Ignores `stop` if the answer has calls, because some servers send it by mistake. */
function stopOf(finish: string, hasCalls: boolean): string {
  if (finish === "length" || finish === "model_length") return "max_tokens";
  if (finish === "content_filter") return "refusal";
  return hasCalls ? "tool_use" : "end_turn";
}

function usageOf(told: unknown): Usage | undefined {
  if (!isJsonObject(told)) return undefined;
  const details = objectIn(told, "prompt_tokens_details");
  return countedUsage({
    prompt: told["prompt_tokens"],
    answer: told["completion_tokens"],
    read: details["cached_tokens"] ?? told["prompt_cache_hit_tokens"],
    written: details["cache_write_tokens"],
    reasoning: objectIn(told, "completion_tokens_details")["reasoning_tokens"],
  });
}
