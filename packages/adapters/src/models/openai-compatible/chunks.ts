import { type AnswerStream, type ModelReply, parsedOrUndefined } from "@skein/core";
import { type JsonObject, type Usage, isJsonObject } from "@skein/protocol";
import { countedUsage, objectIn } from "../counted-usage.ts";
import { cutStream, streamFailure } from "../failures-of-openai.ts";

interface OpenCall {
  readonly index: number;
  readonly id: string | undefined;
}

/** The fields in which servers send reasoning. Some send the same in two fields: the first is used. */
const REASONING = ["reasoning_content", "reasoning", "reasoning_text"];

/** Reads the chunks of a Chat Completions stream, from OpenAI and from servers that differ from it. */
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

  /**
   * The call that a delta belongs to. A new id with a name is a new call, whatever its index is. A name without id and
   * index is also a new call. A new id without a name belongs to the same call, which keeps its first id.
   */
  function callOf(delta: JsonObject): OpenCall | undefined {
    const { index, id } = delta;
    const name = objectIn(delta, "function")["name"];
    const isNamed = typeof name === "string" && name !== "";
    const last = typeof index === "number" ? byIndex.get(index) : calls.at(-1);
    const isNew =
      typeof id === "string" && id !== ""
        ? !calls.some((call) => call.id === id) && (isNamed || !last)
        : isNamed && (!last || index === undefined);
    if (typeof id === "string" && !isNew && id !== "") return calls.find((call) => call.id === id) ?? last;
    if (!isNew) return last;
    const given = typeof id === "string" && id !== "" ? id : undefined;
    const call = {
      id: given,
      index: answer.call({ id: given ?? newId(calls.length), name: isNamed ? name : "" }),
    };
    calls.push(call);
    if (typeof index === "number") byIndex.set(index, call);
    return call;
  }

  function addCall(delta: unknown): void {
    if (!isJsonObject(delta)) return;
    const call = callOf(delta);
    const { arguments: input } = objectIn(delta, "function");
    if (!call || input === undefined || input === null) return;
    answer.input(call.index, typeof input === "string" ? input : JSON.stringify(input));
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
      for (const key of ["content", "refusal"]) {
        const text = delta[key];
        if (typeof text === "string" && text !== "") answer.text(text);
      }
      if (Array.isArray(delta["tool_calls"])) for (const call of delta["tool_calls"] as unknown[]) addCall(call);
      if (typeof choice["finish_reason"] === "string") finish = choice["finish_reason"];
    },
    end(): ModelReply {
      if (finish === undefined) throw cutStream();
      if (details.length > 0) {
        const data = { reasoning_details: details };
        if (thinking === undefined) answer.opaque(data);
        else answer.carry(thinking, data);
      }
      return answer.end(stopOf(finish, answer.hasCalls()), usage);
    },
  };
}

/** Some servers send `stop` although there are calls. */
function stopOf(finish: string, hasCalls: boolean): string {
  if (finish === "length") return "max_tokens";
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
