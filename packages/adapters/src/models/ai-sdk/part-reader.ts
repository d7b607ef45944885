import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { type AnswerStream, type ModelReply, callIdOf } from "@skein/core";
import type { Usage } from "@skein/protocol";
import { countedUsage } from "../counted-usage.ts";
import { cutStream } from "../failures-of-openai.ts";
import { partFailure } from "./failures.ts";
import type { CarriedPart } from "./carried-part.ts";

interface PartReader {
  add(part: LanguageModelV4StreamPart): void;
  end(): ModelReply;
}

/** Reads the parts of a stream. An answer counts only if the provider said its end and no part was an error. */
export function createPartReader(answer: AnswerStream): PartReader {
  const blocks = new Map<string, { index?: number; metadata?: SharedV4ProviderMetadata }>();
  let finish: { readonly usage: LanguageModelV4Usage; readonly finishReason: LanguageModelV4FinishReason } | undefined;

  function blockOf(id: string, metadata: SharedV4ProviderMetadata | undefined) {
    const block = blocks.get(id) ?? {};
    if (metadata) block.metadata = metadata;
    blocks.set(id, block);
    return block;
  }

  /** The end of a text or of reasoning. One without words is kept for what its provider put beside it. */
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
      switch (part.type) {
        case "error":
          throw partFailure(part.error);
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
          return void callBlock(part.id, part.toolName, part.providerMetadata);
        case "tool-input-delta":
          return answer.input(callBlock(part.id, "", part.providerMetadata), part.delta);
        case "tool-call": {
          const isWritten = blocks.get(`call ${part.toolCallId}`)?.index !== undefined;
          const index = callBlock(part.toolCallId, part.toolName, part.providerMetadata);
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
          // Files, sources, pings and what the provider ran itself: nothing of it is in an answer of ours.
          return undefined;
      }
    },
    end() {
      const { unified, raw } = finish?.finishReason ?? { unified: "interrupted", raw: undefined };
      // A stream that ends early does not throw there.
      if (!finish || unified === "error" || unified === "interrupted" || (unified === "other" && raw === undefined))
        throw cutStream();
      return answer.end(stopOf(unified, answer.hasCalls()), usageOf(finish.usage));
    },
  };
}

function stopOf(unified: LanguageModelV4FinishReason["unified"], hasCalls: boolean): string {
  if (unified === "length") return "max_tokens";
  if (unified === "content-filter") return "refusal";
  return hasCalls ? "tool_use" : "end_turn";
}

function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage | undefined {
  return countedUsage({
    prompt: inputTokens.total,
    answer: outputTokens.total,
    read: inputTokens.cacheRead,
    written: inputTokens.cacheWrite,
    reasoning: outputTokens.reasoning,
  });
}
