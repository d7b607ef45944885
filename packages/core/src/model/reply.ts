import { ContentBlock, type ModelStreamEvent, Usage } from "@skein/protocol";
import { z } from "zod";
import { ModelFailure, type ModelReply } from "../ports/model.ts";
import { parsedOrUndefined } from "./parsed-json.ts";

interface Block {
  block: ContentBlock;
  json: string;
}

/** The most characters of one answer. A longer answer is a fault of the provider, and would fill the memory. */
const MOST_CHARACTERS = 32 * 1024 * 1024;

/** Used to estimate the tokens of an answer whose provider sent no counts. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * Assembles an answer from a stream in the format of the Messages API. If the model is not Claude, `by` is its name.
 * Thinking and tool calls of such a model are marked with this name, because no other model reads their data.
 */
export function createReply(by?: string) {
  const blocks = new Map<number, Block>();
  let message: { model?: string; usage?: Usage; container?: { id?: string } | null } | undefined;
  let stopReason: string | null = null;
  let usage: Usage = { input_tokens: 0, output_tokens: 0 };
  /** The token counts that the provider has sent. */
  let counted: Partial<Usage> = {};
  let containerId: string | null = null;
  let ended = false;
  let characters = 0;

  function count(delta: Record<string, unknown>): void {
    for (const piece of Object.values(delta)) characters += typeof piece === "string" ? piece.length : 0;
    if (characters > MOST_CHARACTERS)
      throw new ModelFailure(
        { code: "stream_broken", message: "The model's answer has more than 32 million characters, so it was ended." },
        { retryable: false },
      );
  }

  return {
    add(event: ModelStreamEvent): void {
      const index = event["index"] as number;
      switch (event.type) {
        case "message_start":
          message = event["message"] as typeof message;
          counted = withoutNulls(message?.usage);
          usage = { ...usage, ...counted };
          containerId = message?.container?.id ?? null;
          return;
        case "content_block_start":
          blocks.set(index, { block: { ...(event["content_block"] as ContentBlock) }, json: "" });
          return;
        case "content_block_delta": {
          const delta = event["delta"] as Record<string, unknown>;
          count(delta);
          addDelta(blocks.get(index), delta);
          return;
        }
        case "content_block_stop":
          finishBlock(blocks.get(index));
          return;
        case "message_delta": {
          const delta = event["delta"] as { stop_reason?: string | null; container?: { id?: string } | null };
          stopReason = delta.stop_reason ?? stopReason;
          containerId = delta.container?.id ?? containerId;
          counted = { ...counted, ...withoutNulls(event["usage"] as Partial<Usage> | undefined) };
          usage = { ...usage, ...counted };
          return;
        }
        case "message_stop":
          ended = true;
      }
    },
    /** Call this when the provider reports that the answer failed. The answer then has no usage. */
    forget(): void {
      message = undefined;
    },
    /** Returns the counts of the API so far. Undefined before the answer begins. */
    begun(): ModelFailure["begun"] {
      const counted = Usage.safeParse(usage);
      // The counts are complete when the reason why the model stopped has arrived, because the last counts come with
      // it.
      return message && counted.success ? { usage: counted.data, whole: ended || stopReason !== null } : undefined;
    },
    end(): ModelReply {
      if (!message || !ended)
        throw new ModelFailure(
          { code: "stream_cut", message: "The model's answer was cut off before its end." },
          { retryable: true },
        );
      const content = [...blocks.values()].map(({ block }) => markedBy(block, by));
      checkReply(content, usage);
      const isCounted = counted.input_tokens !== undefined && counted.output_tokens !== undefined;
      const told = isCounted ? usage : { ...usage, output_tokens: Math.floor(characters / CHARACTERS_PER_TOKEN) };
      const answer = { content, stopReason, usage: told, model: by ?? message.model ?? "", containerId };
      return isCounted ? answer : { ...answer, estimated: true };
    },
  };
}

function markedBy(block: ContentBlock, by: string | undefined): ContentBlock {
  const isOwn = block.type === "thinking" || block.type === "redacted_thinking" || block.type === "tool_use";
  return by !== undefined && isOwn ? { ...block, carry: { by, data: null } } : block;
}

/** A tool call in a form that the API accepts in a later request. */
const Call = z.looseObject({
  id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
  name: z.string().min(1).max(200),
  input: z.record(z.string(), z.unknown()),
});

/** A complete answer that is invalid costs the full price, so few retries are made. */
const FEW_RETRIES = 1;

/** Rejects invalid blocks and numbers. The answer of a model is untrusted, and its content becomes facts. */
function checkReply(content: readonly ContentBlock[], usage: Usage): void {
  const blocks = content.map((block) => (block.type === "tool_use" ? Call : ContentBlock).safeParse(block));
  const problems = [...blocks, Usage.safeParse(usage)];
  const issue = problems.find(({ error }) => error)?.error?.issues[0];
  if (!issue) return;
  const place = issue.path.join(".");
  const isUnnamed = content.some((block) => block.type === "tool_use" && block["name"] === "");
  const what = isUnnamed ? "A tool call in it has no name." : `${place}: ${issue.message}`;
  throw new ModelFailure(
    { code: "stream_broken", message: `The model's answer is invalid. ${what}` },
    { retryable: true, mostRetries: FEW_RETRIES },
  );
}

function addDelta(target: Block | undefined, delta: Record<string, unknown>): void {
  if (!target) return;
  const { block } = target;
  switch (delta["type"]) {
    case "text_delta":
      block["text"] = ((block["text"] as string | undefined) ?? "") + String(delta["text"]);
      return;
    case "thinking_delta":
      block["thinking"] = ((block["thinking"] as string | undefined) ?? "") + String(delta["thinking"]);
      return;
    case "signature_delta":
      block["signature"] = delta["signature"];
      return;
    case "input_json_delta":
      target.json += String(delta["partial_json"]);
      return;
    case "citations_delta":
      block["citations"] = [...((block["citations"] as unknown[] | null) ?? []), delta["citation"]];
  }
}

function finishBlock(target: Block | undefined): void {
  if (!target || target.json === "") return;
  const input = parsedOrUndefined(target.json);
  // Providers reject later requests with an input that is not a JSON object. So the text of such an input is put into
  // an object, where people can read it. The call fails, because this object does not fit the tool's schema.
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  target.block["input"] = isObject ? input : { unparsable: target.json };
}

function withoutNulls(usage: Partial<Usage> | undefined): Partial<Usage> {
  return Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value !== null && value !== undefined));
}
