import type { ContentBlock, ModelStreamEvent, Usage } from "@skein/protocol";
import { type ModelCall, ModelFailure, type ModelReply } from "../ports/model.ts";
import { createAnswerTeller } from "./answer-tool.ts";
import { callIdOf, createCallIds } from "./call-id.ts";
import { createReply } from "./reply.ts";

type Kind = "text" | "thinking";

/**
 * Assembles the answer of a provider, and translates the provider's stream to events of the Messages API. Text and
 * thinking continue the open block or open a new block. Several tool calls may be open together, so the index
 * identifies a block.
 */
export interface AnswerStream {
  /** Call this when the model begins to answer. Later calls of `begin` change nothing. */
  begin(): void;
  text(piece: string): number;
  thinking(piece: string): number;
  /** Opens a block for a tool call, with the id from the provider. */
  call(call: { readonly id: string; readonly name: string }): number;
  input(index: number, json: string): void;
  /** Sets the data that must go back to the provider with this block. */
  carry(index: number, data: unknown): void;
  /** Adds a block that only the provider can read. It must go back to the provider. */
  opaque(data: unknown): void;
  /** Ends the open block. Later text or thinking gets a new block. */
  closeBlock(): void;
  /** Whether a tool call has begun. */
  readonly hasCalls: () => boolean;
  /** Ends the answer. Counts that the provider did not send are estimated, and the answer is marked as estimated. */
  end(stopReason: string, usage: Usage | undefined): ModelReply;
  /** Returns the failure with the counts of the answer so far, if the answer has begun. */
  failed(failure: ModelFailure): ModelFailure;
}

const BYTES_PER_TOKEN = 4;

/**
 * If the model answers by calling a tool, `answerTool` is the name of this tool. The input of the tool is the answer.
 */
export function createAnswerStream(
  { model: name, usedIds }: Pick<ModelCall, "model" | "usedIds">,
  onEvent: (event: ModelStreamEvent) => void,
  answerTool?: string,
): AnswerStream {
  const reply = createReply(name);
  const teller = createAnswerTeller(answerTool);
  const carried = new Map<number, unknown>();
  const calls: number[] = [];
  const idOf = createCallIds(usedIds);
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
    hasCalls: () => calls.length > 0,
    text: (piece) => write("text", piece),
    thinking: (piece) => write("thinking", piece),
    call(call) {
      closeBlock();
      const id = idOf(call.id);
      const index = start({ type: "tool_use", id, name: call.name, input: {} });
      calls.push(index);
      // If the provider repeats an id, the provider could not tell the calls apart. So such an id is not sent back.
      if (id !== call.id && id === callIdOf(call.id)) carried.set(index, { id: call.id });
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
      for (const index of calls) tell({ type: "content_block_stop", index });
      const measured = { input_tokens: 0, output_tokens: Math.floor(characters / BYTES_PER_TOKEN) };
      tell({ type: "message_delta", delta: { stop_reason: stopReason }, usage: usage ?? measured });
      tell({ type: "message_stop" });
      const whole = reply.end();
      const isHandedOver = whole.content.some((_, index) => teller.isAnswer(index));
      const content = whole.content.map((block, index) => {
        // A provider accepts reasoning only together with the block after it. The call of the answer tool is not in the
        // log, so an answer through this tool keeps no carried data.
        const data = isHandedOver ? undefined : carried.get(index);
        return data === undefined ? block : { ...block, carry: { by: name, data } };
      });
      return { ...whole, content, ...(!usage && { estimated: true as const }) };
    },
    failed({ failure, retryable, retryAfterMs, mostRetries, begun: counted }) {
      // These streams send counts at the end. Before the end, it is only known that the answer has begun.
      const known = counted ?? (begun ? reply.begun() : undefined);
      return new ModelFailure(failure, { retryable, retryAfterMs, mostRetries, begun: known });
    },
  };
}
