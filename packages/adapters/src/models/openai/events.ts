import { type AnswerStream, type ModelReply, parsedOrUndefined } from "@skein/core";
import { type JsonObject, type Usage, isJsonObject } from "@skein/protocol";
import { countedUsage, objectIn } from "../counted-usage.ts";
import { cutStream, streamFailure } from "../failures-of-openai.ts";

/**
 * Reads the events of a stream of the Responses API. Items are identified by their index, because the id of an item may
 * differ between its events.
 */
export function createEventReader(answer: AnswerStream) {
  /** The block of an item, by the item's index. */
  const blocks = new Map<number, number>();
  /** The blocks of tool calls whose input has begun to arrive. */
  const hasInput = new Set<number>();
  let response: JsonObject | undefined;
  let refused = false;

  function begin(place: number, item: JsonObject): void {
    answer.closeBlock();
    if (item["type"] === "function_call")
      blocks.set(place, answer.call({ id: String(item["call_id"]), name: String(item["name"]) }));
  }

  /** Adds the input of a tool call or the text of a message. Some servers send this only at the end of an item. */
  function addMissing(place: number, item: JsonObject): void {
    if (item["type"] === "function_call") {
      if (!blocks.has(place)) begin(place, item);
      const block = blocks.get(place);
      const { arguments: input } = item;
      if (block !== undefined && !hasInput.has(block) && typeof input === "string") answer.input(block, input);
    }
    if (item["type"] !== "message" || blocks.has(place) || !Array.isArray(item["content"])) return;
    for (const { text } of (item["content"] as unknown[]).filter(isJsonObject))
      if (typeof text === "string" && text !== "") blocks.set(place, answer.text(text));
  }

  /** Stores the final form of an item, which the provider needs in later requests. */
  function finish(place: number, item: JsonObject): void {
    addMissing(place, item);
    const block = blocks.get(place);
    if (block === undefined) answer.opaque({ item });
    else answer.carry(block, { item });
    answer.closeBlock();
  }

  return {
    add(data: string): void {
      const event = parsedOrUndefined(data) as JsonObject | undefined;
      if (!event) throw new SyntaxError("An event of the stream is not JSON.");
      answer.begin();
      const place = Number(event["output_index"]);
      const delta = typeof event["delta"] === "string" ? event["delta"] : "";
      switch (event["type"]) {
        case "response.output_item.added":
          return begin(place, objectIn(event, "item"));
        case "response.output_item.done":
          return finish(place, objectIn(event, "item"));
        case "response.refusal.delta":
          refused = true;
          return void blocks.set(place, answer.text(delta));
        case "response.output_text.delta":
          return void blocks.set(place, answer.text(delta));
        case "response.reasoning_summary_text.delta":
        case "response.reasoning_text.delta":
          return void blocks.set(place, answer.thinking(delta));
        case "response.reasoning_summary_part.added":
          return Number(event["summary_index"]) > 0 ? void answer.thinking("\n\n") : undefined;
        case "response.function_call_arguments.delta": {
          const block = blocks.get(place);
          if (block === undefined) return;
          hasInput.add(block);
          return answer.input(block, delta);
        }
        case "response.completed":
        case "response.incomplete":
          response = objectIn(event, "response");
          return;
        case "response.failed":
          throw streamFailure(objectIn(event, "response")["error"]);
        case "error":
          throw streamFailure(isJsonObject(event["error"]) ? event["error"] : event);
      }
    },
    end(): ModelReply {
      if (!response || response["status"] === "cancelled") throw cutStream();
      return answer.end(refused ? "refusal" : stopOf(response, answer.hasCalls()), usageOf(response["usage"]));
    },
  };
}

function stopOf(response: JsonObject, hasCalls: boolean): string {
  const { reason } = objectIn(response, "incomplete_details");
  if (reason === "content_filter") return "refusal";
  if (response["status"] === "incomplete") return "max_tokens";
  return hasCalls ? "tool_use" : "end_turn";
}

function usageOf(told: unknown): Usage | undefined {
  if (!isJsonObject(told)) return undefined;
  const details = objectIn(told, "input_tokens_details");
  return countedUsage({
    prompt: told["input_tokens"],
    answer: told["output_tokens"],
    read: details["cached_tokens"],
    written: details["cache_write_tokens"],
    reasoning: objectIn(told, "output_tokens_details")["reasoning_tokens"],
  });
}
