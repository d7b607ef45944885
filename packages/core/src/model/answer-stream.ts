import type { ContentBlock, ModelStreamEvent, Usage } from "@skein/protocol";
import { ModelFailure, type ModelReply } from "../ports/model.ts";
import { callIdOf } from "./call-id.ts";
import { createReply } from "./reply.ts";

type Kind = "text" | "thinking";

/** A call that is being written. */
export interface ArrivingCall {
  readonly index: number;
  input(json: string): void;
}

/**
 * An answer of a provider with a stream of its own, told in the words of the Messages API and put together.
 *
 * Text and thinking go on in the block that is open, or open a new one. Calls may be written side by side. What the
 * provider must see again is kept with the block it belongs to.
 */
export interface AnswerStream {
  /** The model has begun to answer. Said again it changes nothing but the counts. */
  begin(model?: string, usage?: Usage): void;
  text(piece: string): void;
  thinking(piece: string): void;
  call(call: { readonly id: string; readonly name: string; readonly carry?: unknown }): ArrivingCall;
  /** Keeps what the provider must see again with the block that is open, or with an empty block of thinking. */
  carry(data: unknown): void;
  /** The provider said the end. Counts that it did not tell are measured, and the answer is marked. */
  end(stopReason: string, usage: Usage | undefined): ModelReply;
  /** What had arrived when the stream failed. `refused`: the provider itself said that the answer failed. */
  failed(failure: ModelFailure, refused?: boolean): ModelFailure;
}

const BYTES_PER_TOKEN = 4;

export function createAnswerStream(
  asked: { readonly name: string },
  onEvent: (event: ModelStreamEvent) => void,
): AnswerStream {
  const reply = createReply();
  const carried = new Map<number, unknown>();
  const calls = new Set<number>();
  let begun = false;
  let told: Usage | undefined;
  let bytes = 0;
  let next = 0;
  let open: { readonly kind: Kind; readonly index: number } | undefined;

  function tell(event: ModelStreamEvent): void {
    reply.add(event);
    onEvent(event);
  }

  function begin(model = asked.name, usage?: Usage): void {
    told = usage ?? told;
    if (begun) return;
    begun = true;
    const message = { model, usage: usage ?? { input_tokens: 0, output_tokens: 0 } };
    tell({ type: "message_start", message });
  }

  function start(content_block: ContentBlock): number {
    begin();
    const index = next++;
    tell({ type: "content_block_start", index, content_block });
    return index;
  }

  function closeOpen(): void {
    if (open) tell({ type: "content_block_stop", index: open.index });
    open = undefined;
  }

  function write(kind: Kind, piece: string): void {
    if (piece === "") return;
    if (open?.kind !== kind) {
      closeOpen();
      open = { kind, index: start(kind === "text" ? { type: "text", text: "" } : { type: "thinking", thinking: "" }) };
    }
    bytes += piece.length;
    tell({ type: "content_block_delta", index: open.index, delta: { type: `${kind}_delta`, [kind]: piece } });
  }

  return {
    begin,
    text: (piece) => write("text", piece),
    thinking: (piece) => write("thinking", piece),
    call({ id, name, carry }) {
      closeOpen();
      const logged = callIdOf(id);
      const index = start({ type: "tool_use", id: logged, name, input: {} });
      calls.add(index);
      carried.set(index, carry ?? (logged === id ? null : { id }));
      return {
        index,
        input(json) {
          bytes += json.length;
          tell({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: json } });
        },
      };
    },
    carry(data) {
      if (!open) open = { kind: "thinking", index: start({ type: "thinking", thinking: "" }) };
      carried.set(open.index, data);
    },
    end(stopReason, usage) {
      begin();
      closeOpen();
      for (const index of calls) tell({ type: "content_block_stop", index });
      const counts = usage ?? told;
      const measured = { input_tokens: 0, output_tokens: Math.floor(bytes / BYTES_PER_TOKEN) };
      tell({ type: "message_delta", delta: { stop_reason: stopReason }, usage: counts ?? measured });
      tell({ type: "message_stop" });
      const whole = reply.end();
      const content = whole.content.map((block, index) => marked(block, carried.get(index), asked.name));
      return { ...whole, content, ...(!counts && { estimated: true as const }) };
    },
    failed({ failure, retryable, retryAfterMs, mostRetries }, refused = false) {
      if (refused && !told) reply.forget();
      return new ModelFailure(failure, { retryable, retryAfterMs, mostRetries, begun: reply.begun() });
    },
  };
}

/** Thinking and calls say who wrote them: no other model may take them for its own. */
function marked(block: ContentBlock, data: unknown, by: string): ContentBlock {
  if (data === undefined && block.type !== "thinking") return block;
  return { ...block, carry: { by, data: data ?? null } };
}
