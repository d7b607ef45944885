import type { ContentBlock, ModelStreamEvent, Usage } from "@skein/protocol";
import { ModelFailure, type ModelReply } from "../ports/model.ts";
import { createAnswerTeller } from "./answer-tool.ts";
import { callIdOf } from "./call-id.ts";
import { createReply } from "./reply.ts";

type Kind = "text" | "thinking";

/**
 * An answer of a provider with a stream of its own, told in the words of the Messages API and put together.
 *
 * Text and thinking go on in the block that is open, or open a new one. Calls may be written side by side. Each block is
 * known by its index.
 */
export interface AnswerStream {
  /** The model has begun to answer. Later calls of `begin` change nothing. */
  begin(): void;
  text(piece: string): number;
  thinking(piece: string): number;
  /** A call has begun, under the id that the provider has for it. */
  call(call: { readonly id: string; readonly name: string }): number;
  input(index: number, json: string): void;
  /** What the provider must see again with this block. */
  carry(index: number, data: unknown): void;
  /** What the provider must see again and that is neither text nor thinking nor a call. */
  opaque(data: unknown): void;
  /** Text and thinking that follow are a block of their own. */
  closeBlock(): void;
  /** Whether a call has begun. */
  readonly hasCalls: () => boolean;
  /** The provider said the end. Counts that it did not tell are measured, and the answer is marked. */
  end(stopReason: string, usage: Usage | undefined): ModelReply;
  /** The failure with what had arrived. */
  failed(failure: ModelFailure): ModelFailure;
}

const BYTES_PER_TOKEN = 4;

/** `answerTool` is the name of the tool whose input is the answer, if the call has one. */
export function createAnswerStream(
  name: string,
  onEvent: (event: ModelStreamEvent) => void,
  answerTool?: string,
): AnswerStream {
  const reply = createReply(name);
  const teller = createAnswerTeller(answerTool);
  const carried = new Map<number, unknown>();
  const calls = new Map<number, string>();
  let begun = false;
  let characters = 0;
  let next = 0;
  let open: { readonly kind: Kind; readonly index: number } | undefined;

  function tell(event: ModelStreamEvent): void {
    for (const told of teller.tell(event)) {
      reply.add(told);
      onEvent(told);
    }
  }

  function begin(): void {
    if (begun) return;
    begun = true;
    tell({ type: "message_start", message: { model: name, usage: { input_tokens: 0, output_tokens: 0 } } });
  }

  function start(content_block: ContentBlock): number {
    begin();
    const index = next++;
    tell({ type: "content_block_start", index, content_block });
    return index;
  }

  function closeBlock(): void {
    if (open) tell({ type: "content_block_stop", index: open.index });
    open = undefined;
  }

  function count(piece: string): void {
    characters += piece.length;
  }

  function write(kind: Kind, piece: string): number {
    if (open?.kind !== kind) {
      closeBlock();
      open = { kind, index: start(kind === "text" ? { type: "text", text: "" } : { type: "thinking", thinking: "" }) };
    }
    count(piece);
    const { index } = open;
    if (piece !== "") tell({ type: "content_block_delta", index, delta: { type: `${kind}_delta`, [kind]: piece } });
    return index;
  }

  return {
    begin,
    closeBlock,
    hasCalls: () => calls.size > 0,
    text: (piece) => write("text", piece),
    thinking: (piece) => write("thinking", piece),
    call(call) {
      closeBlock();
      const id = callIdOf(call.id);
      const index = start({ type: "tool_use", id, name: call.name, input: {} });
      calls.set(index, call.id);
      if (id !== call.id) carried.set(index, { id: call.id });
      return index;
    },
    input(index, json) {
      count(json);
      if (json !== "")
        tell({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: json } });
    },
    carry: (index, data) => void carried.set(index, data),
    opaque(data) {
      closeBlock();
      carried.set(write("thinking", ""), data);
      closeBlock();
    },
    end(stopReason, usage) {
      begin();
      closeBlock();
      for (const index of calls.keys()) tell({ type: "content_block_stop", index });
      const measured = { input_tokens: 0, output_tokens: Math.floor(characters / BYTES_PER_TOKEN) };
      tell({ type: "message_delta", delta: { stop_reason: stopReason }, usage: usage ?? measured });
      tell({ type: "message_stop" });
      const whole = reply.end();
      const isHandedOver = whole.content.some((_, index) => teller.isAnswer(index));
      const content = whole.content.map((block, index) => {
        // What was carried belongs to a call that the log does not have: reasoning is taken back only with what followed it.
        const data = isHandedOver ? undefined : carried.get(index);
        return data === undefined ? block : { ...block, carry: { by: name, data } };
      });
      return { ...whole, content, ...(!usage && { estimated: true as const }) };
    },
    failed({ failure, retryable, retryAfterMs, mostRetries }) {
      // Counts come at the end of these streams: before it only the fact is known that the answer had begun.
      const known = begun ? reply.begun() : undefined;
      return new ModelFailure(failure, { retryable, retryAfterMs, mostRetries, begun: known });
    },
  };
}
