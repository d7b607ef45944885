import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { type AnswerStream, ModelFailure, type ModelReply, callIdOf } from "@skein/core";
import type { Usage } from "@skein/protocol";
import { countedUsage, objectIn } from "../counted-usage.ts";
import { cutStream } from "../failures-of-openai.ts";
import { partFailure } from "./failures.ts";
import type { CarriedPart } from "./carried-part.ts";

interface PartReader {
  add(part: LanguageModelV4StreamPart): void;
  end(): ModelReply;
}

/** Reads the parts of a stream. Throws if a part is an error, or if the provider did not end the answer. */
export function createPartReader(answer: AnswerStream): PartReader {
  const blocks = new Map<string, { index?: number; metadata?: SharedV4ProviderMetadata }>();
  /** The tool calls whose input is incomplete. */
  const calls = new Map<string, { readonly name: string; input: string }>();
  let hasBegun = false;
  let finish: { readonly usage: LanguageModelV4Usage; readonly finishReason: LanguageModelV4FinishReason } | undefined;

  /**
   * Returns the id under which the input of a tool call was streamed. Some providers send the complete tool call under
   * another id.
   */
  function writtenId({ toolCallId, toolName, input }: { toolCallId: string; toolName: string; input: string }) {
    if (calls.has(toolCallId)) return toolCallId;
    return [...calls].find(([, call]) => call.name === toolName && call.input === input)?.[0];
  }

  function write(id: string, delta: string): void {
    const call = calls.get(id);
    if (call) call.input += delta;
  }

  function blockOf(id: string, metadata: SharedV4ProviderMetadata | undefined) {
    const block = blocks.get(id) ?? {};
    if (metadata) block.metadata = metadata;
    blocks.set(id, block);
    return block;
  }

  /** Ends a block of text or reasoning. Keeps an empty block only if it has provider metadata. */
  function endBlock(key: string, metadata: SharedV4ProviderMetadata | undefined, isText: boolean): void {
    const { index, metadata: told } = blockOf(key, metadata);
    if (told && index !== undefined) answer.carry(index, { metadata: told } satisfies CarriedPart);
    if (told && index === undefined) answer.opaque({ metadata: told, ...(isText && { isText }) } satisfies CarriedPart);
    answer.closeBlock();
    blocks.delete(key);
  }

  function callBlock(id: string, name: string, metadata: SharedV4ProviderMetadata | undefined): number {
    const block = blockOf(`call ${id}`, metadata);
    block.index ??= answer.call({ id, name });
    if (block.metadata) answer.carry(block.index, { metadata: block.metadata, ...(callIdOf(id) !== id && { id }) });
    return block.index;
  }

  return {
    add(part) {
      const isFirst = !hasBegun;
      if (part.type !== "stream-start" && part.type !== "finish") hasBegun = true;
      switch (part.type) {
        case "error":
          throw isFirst && isNoResponse(part.error) ? noAnswer() : partFailure(part.error);
        case "response-metadata":
          return answer.begin();
        case "text-start":
        case "reasoning-start":
          answer.closeBlock();
          return void blockOf(`${part.type === "text-start" ? "text" : "reasoning"} ${part.id}`, part.providerMetadata);
        case "text-delta":
          return void (blockOf(`text ${part.id}`, part.providerMetadata).index = answer.text(part.delta));
        case "reasoning-delta":
          return void (blockOf(`reasoning ${part.id}`, part.providerMetadata).index = answer.thinking(part.delta));
        case "text-end":
          return endBlock(`text ${part.id}`, part.providerMetadata, true);
        case "reasoning-end":
          return endBlock(`reasoning ${part.id}`, part.providerMetadata, false);
        case "tool-input-start":
          calls.set(part.id, { name: part.toolName, input: "" });
          return void callBlock(part.id, part.toolName, part.providerMetadata);
        case "tool-input-delta":
          write(part.id, part.delta);
          return answer.input(callBlock(part.id, "", part.providerMetadata), part.delta);
        case "tool-call": {
          const id = writtenId(part);
          const isWritten = id !== undefined;
          const index = callBlock(id ?? part.toolCallId, part.toolName, part.providerMetadata);
          calls.delete(id ?? part.toolCallId);
          return isWritten ? undefined : answer.input(index, part.input);
        }
        case "custom":
          return answer.opaque({
            custom: part.kind,
            ...(part.providerMetadata && { metadata: part.providerMetadata }),
          } satisfies CarriedPart);
        case "finish":
          finish = part;
          return undefined;
        default:
          // An answer of Skein contains no files, sources, pings or tools of the provider.
          return undefined;
      }
    },
    end() {
      const { unified, raw } = finish?.finishReason ?? { unified: "interrupted", raw: undefined };
      // The provider's code does not throw if a stream ends early.
      if (!finish || unified === "error" || unified === "interrupted" || (unified === "other" && raw === undefined))
        throw hasBegun ? cutStream() : noAnswer();
      return answer.end(stopOf(unified, answer.hasCalls()), usageOf(finish.usage));
    },
  };
}

/** Checks the error's name, because each provider package may have another copy of the class. */
function isNoResponse(error: unknown): boolean {
  return error instanceof Error && error.name === "AI_InvalidResponseDataError";
}

/**
 * Returns the failure for an answer that is empty or no stream of a model. Allows only one retry, because a wrong
 * address is more likely than a server that recovers.
 */
function noAnswer(): ModelFailure {
  const message =
    "The answer was empty, a web page or not a stream, so the address is not that of a model. Check the address of the model.";
  return new ModelFailure({ code: "no_model", message }, { retryable: true, mostRetries: 1 });
}

function stopOf(unified: LanguageModelV4FinishReason["unified"], hasCalls: boolean): string {
  if (unified === "length") return "max_tokens";
  if (unified === "content-filter") return "refusal";
  return hasCalls ? "tool_use" : "end_turn";
}

/** Converts the usage. Some providers of the AI SDK have cache counts only in `raw`. */
function usageOf({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): Usage | undefined {
  return countedUsage({
    prompt: inputTokens.total,
    answer: outputTokens.total,
    read: inputTokens.cacheRead || raw?.["prompt_cache_hit_tokens"],
    written: inputTokens.cacheWrite || objectIn(raw, "prompt_tokens_details")["cache_write_tokens"],
    reasoning: outputTokens.reasoning,
  });
}
