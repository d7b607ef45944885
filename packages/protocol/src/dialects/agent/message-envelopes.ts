import type { DraftPiece } from "../../draft-piece.ts";
import type { ContentBlock, JsonObject } from "../../content.ts";
import type { Failure } from "../../error.ts";
import type { FactData } from "../../event.ts";
import type { Envelope } from "./envelope.ts";

/** The part of a block that is already sent. */
interface Sent {
  type: "text" | "thinking" | null;
  text: string;
  citations: number;
  closed: boolean;
}

/**
 * Turns the model's messages into envelopes. Sends draft pieces, which are parts of a message that the model is
 * writing, immediately. When the event with the complete message arrives, sends only the text that was not sent as a
 * draft.
 */
export function createMessageEnvelopes() {
  let open: { readonly id: string; readonly sent: Map<number, Sent> } | undefined;
  const settled = new Set<string>();

  function sentIn(messageId: string): Map<number, Sent> {
    if (open?.id !== messageId) open = { id: messageId, sent: new Map() };
    return open.sent;
  }

  function sentOf(messageId: string, index: number): Sent {
    const all = sentIn(messageId);
    const sent = all.get(index) ?? { type: null, text: "", citations: 0, closed: false };
    all.set(index, sent);
    return sent;
  }

  return {
    stream({ session_id: agent, message_id: message, event }: DraftPiece): readonly Envelope[] {
      // A draft piece is ignored if it arrives after the event with its complete message.
      if (settled.has(message)) return [];
      const index = Number(event["index"] ?? 0);
      const about = { agent, message, id: `${message}:${index}` };
      if (event.type === "content_block_stop") return closing(sentOf(message, index), about);
      return event.type === "content_block_delta"
        ? addition(event["delta"] as JsonObject, sentOf(message, index), about)
        : [];
    },

    settle(data: FactData<"step.generated">, agent: string): readonly Envelope[] {
      const { message_id: message, purpose, content } = data;
      if (purpose !== "step" && purpose !== "summary") return [];
      const rest = content.flatMap((block, index) =>
        remaining(block, sentOf(message, index), { agent, message, id: `${message}:${index}` }),
      );
      settled.add(message);
      open = undefined;
      return rest;
    },

    /**
     * Ends an interrupted answer: sends the part of its text that was not sent as a draft, and closes the other blocks.
     */
    interrupt({ message_id: message, content }: Interrupted, agent: string): readonly Envelope[] {
      const about = (index: number): About => ({ agent, message, id: `${message}:${index}` });
      const all = sentIn(message);
      const places = placesOf(content, all);
      const ends = [...all].flatMap(([index, sent]) => (places.has(index) ? [] : closing(sent, about(index))));
      const rest = [...places].flatMap(([index, block]) => remaining(block, sentOf(message, index), about(index)));
      settled.add(message);
      open = undefined;
      return [...ends, ...rest];
    },

    /** Tells the client to discard the sent part of an unfinished message. Sends nothing if no part was sent. */
    reset(agent: string, error: Failure): readonly Envelope[] {
      if (!open) return [];
      const { id: message } = open;
      settled.add(message);
      open = undefined;
      const { code, message: delta } = error;
      return [{ type: "error", agent, final: true, delta, id: message, message, code, reset: true }];
    },
  };
}

interface Interrupted {
  readonly message_id: string;
  readonly content: readonly ContentBlock[];
}

type About = Pick<Envelope, "agent" | "id"> & { readonly message: string };

/**
 * Returns the blocks of an interrupted answer by their index. The event has only the texts of the answer, so a block is
 * found by its sent part. A block without a sent part gets the next free index.
 */
function placesOf(content: readonly ContentBlock[], all: ReadonlyMap<number, Sent>): ReadonlyMap<number, ContentBlock> {
  const places = new Map<number, ContentBlock>();
  for (const block of content) {
    const begun = [...all].find(([index, sent]) => !places.has(index) && isPartOf(block, sent))?.[0];
    places.set(begun ?? Math.max(-1, ...all.keys(), ...places.keys()) + 1, block);
  }
  return places;
}

function isPartOf(block: ContentBlock, { type, text, closed }: Sent): boolean {
  const full = type === block.type ? block[type] : undefined;
  return typeof full === "string" && (closed ? full === text : full.startsWith(text));
}

function addition(delta: JsonObject, sent: Sent, about: About): readonly Envelope[] {
  if (delta["type"] === "citations_delta") {
    sent.citations += 1;
    return [citation(delta["citation"], about, sent.citations)];
  }
  const type = delta["type"] === "text_delta" ? "text" : delta["type"] === "thinking_delta" ? "thinking" : null;
  const text = type === null ? undefined : delta[type];
  if (type === null || typeof text !== "string" || text === "") return [];
  sent.type = type;
  sent.text += text;
  return [{ type, ...about, final: false, delta: text }];
}

function closing(sent: Sent, about: About): readonly Envelope[] {
  if (sent.type === null || sent.closed) return [];
  sent.closed = true;
  return [{ type: sent.type, ...about, final: true, delta: "" }];
}

/** Returns the part of a block that was not sent yet. */
function remaining(block: ContentBlock, sent: Sent, about: About): readonly Envelope[] {
  const { agent, message } = about;
  const named = { agent, message, final: true, name: block["name"] as string };
  if (block.type === "text" || block.type === "thinking") {
    const full = block[block.type];
    const rest = typeof full === "string" ? full.slice(sent.text.length) : "";
    const said: Envelope[] = sent.closed ? [] : [{ type: block.type, ...about, final: true, delta: rest }];
    const citations = (block["citations"] as unknown[] | null | undefined) ?? [];
    const cited = citations.slice(sent.citations).map((each, n) => citation(each, about, sent.citations + n + 1));
    return [...said, ...cited];
  }
  if (block.type === "tool_use")
    return [{ type: "tool_call", ...named, id: String(block["id"]), delta: JSON.stringify(block["input"] ?? {}) }];
  if (block.type === "server_tool_use" || block.type === "mcp_tool_use")
    return [
      { type: "server_tool_call", ...named, id: String(block["id"]), delta: JSON.stringify(block["input"] ?? {}) },
    ];
  if (!block.type.endsWith("_tool_result")) return [];
  const name = block.type.slice(0, -"_tool_result".length);
  const delta = JSON.stringify(block["content"] ?? null);
  return [{ type: "server_tool_result", ...named, name, id: String(block["tool_use_id"]), delta }];
}

function citation(value: unknown, { agent, message, id }: About, number: number): Envelope {
  return { type: "citation", agent, message, final: true, delta: JSON.stringify(value), id: `${id}:${number}` };
}
