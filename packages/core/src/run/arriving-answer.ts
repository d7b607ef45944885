import { type ContentBlock, type ModelStreamEvent, Usage } from "@skein/protocol";

/** The part of an answer that has arrived so far. */
export interface Arrived {
  /** Identifies the model call that this answer belongs to. */
  readonly callKey: string;
  /** The id of the message that this answer is going to be. Its drafts have the same id. */
  readonly messageId: string;
  /** The model that the stream names; null until the stream has begun. */
  readonly model: string | null;
  /**
   * The counts of the stream so far. If more output has arrived than was counted, the output is estimated from the
   * text.
   */
  readonly usage: Usage;
  /** Whether the stream has sent its final counts. If so, no count is estimated. */
  readonly isCounted: boolean;
  /** The texts of the answer, without empty ones. */
  readonly content: readonly ContentBlock[];
}

/** Follows the stream of one call. */
export interface ArrivingAnswer {
  add(event: ModelStreamEvent): void;
  soFar(): Arrived;
}

const BYTES_PER_TOKEN = 4;

/** Collects the counts and the pieces of a stream. The pieces are counted only if the stream breaks off. */
export function createArrivingAnswer(callKey: string, messageId: string): ArrivingAnswer {
  const texts = new Map<number, string[]>();
  const pieces: string[] = [];
  const usages: unknown[] = [];
  let model: string | null = null;
  let isCounted = false;

  function addDelta(index: number, delta: Readonly<Record<string, unknown>>): void {
    const piece = delta["text"] ?? delta["thinking"] ?? delta["partial_json"];
    if (typeof piece !== "string") return;
    pieces.push(piece);
    if (delta["type"] !== "text_delta") return;
    const before = texts.get(index);
    if (before) before.push(piece);
    else texts.set(index, [piece]);
  }

  return {
    add(event) {
      switch (event.type) {
        case "message_start": {
          const message = event["message"] as { readonly model?: string; readonly usage?: unknown } | undefined;
          model = message?.model ?? null;
          usages.push(message?.usage);
          return;
        }
        case "content_block_delta":
          addDelta(event["index"] as number, (event["delta"] ?? {}) as Readonly<Record<string, unknown>>);
          return;
        case "message_delta":
          usages.push(event["usage"]);
          isCounted = (event["delta"] as { readonly stop_reason?: unknown } | undefined)?.stop_reason != null;
          return;
        default:
      }
    },
    soFar() {
      const told = usages.reduce<Usage>(counts, { input_tokens: 0, output_tokens: 0 });
      const encoder = new TextEncoder();
      const bytes = pieces.reduce((sum, piece) => sum + encoder.encode(piece).length, 0);
      // The estimate is rounded down: the recorded usage must never be more than what is billed.
      const measured = Math.floor(bytes / BYTES_PER_TOKEN);
      const output_tokens = isCounted ? told.output_tokens : Math.max(told.output_tokens, measured);
      const content = [...texts.values()]
        .map((parts) => ({ type: "text", text: parts.join("") }))
        .filter(({ text }) => text.trim() !== "");
      return { callKey, messageId, model, usage: { ...told, output_tokens }, isCounted, content };
    },
  };
}

/**
 * Returns the counts after an event of the stream: a count in the event replaces the earlier count. If a value in the
 * event is not a count, the event is ignored.
 */
function counts(before: Usage, said: unknown): Usage {
  const entries = Object.entries(said ?? {}).filter(([, value]) => value !== null && value !== undefined);
  const parsed = Usage.safeParse({ ...before, ...Object.fromEntries(entries) });
  return parsed.success ? parsed.data : before;
}
