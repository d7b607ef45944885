/** Describes the parts of a request: the origin of each part in the log, and its approximate size. */
import { type ContentBlock, type Event, type JsonObject, type SentRequest, blocksOf } from "@skein/protocol";
import { estimateTokens } from "../log/estimate-tokens.ts";
import { type SessionState, contextOf } from "../log/state.ts";
import { memoryText } from "./request.ts";

type RequestPart = SentRequest["parts"][number];

interface Place {
  readonly origin: RequestPart["origin"];
  readonly sequence: number | null;
}

/** Remembers which event contained which part, and describes the parts of requests. */
export function createRequestParts() {
  const messages = new Map<string, number>();
  const results = new Map<string, number>();
  const memories = new Map<string, number>();
  let compaction: number | null = null;
  let prompt = "";

  function note({ event_type, data, sequence }: Event): void {
    if (event_type === "session.started") prompt = data.message_id;
    if (event_type === "memory.retrieved") memories.set(prompt, sequence);
    else if (event_type === "compaction.checked" && data.messages) compaction = sequence;
    else if (event_type === "tool.completed") results.set(data.tool_use_id, sequence);
    else if ("message_id" in data && typeof data.message_id === "string" && !messages.has(data.message_id))
      messages.set(data.message_id, sequence);
  }

  /** Yields every block that the conversation may contain, with its origin. */
  function* known(state: SessionState): Generator<readonly [text: string, place: Place]> {
    for (const message of contextOf(state)) {
      const { id, role, content } = message as typeof message & { readonly id?: string };
      if (id === undefined) {
        for (const block of blocksOf(content))
          yield [textOfBlock(block), { origin: "compaction", sequence: compaction }];
        continue;
      }
      const recalled = Object.hasOwn(state.recalled, id) ? state.recalled[id] : undefined;
      if (recalled)
        yield [
          textOfBlock({ type: "text", text: memoryText(recalled) }),
          { origin: "memory", sequence: memories.get(id) ?? null },
        ];
      for (const block of blocksOf(content)) {
        const own = block.type === "tool_result" ? results.get(String(block["tool_use_id"])) : undefined;
        const origin = role === "assistant" ? "model" : block.type === "tool_result" ? "result" : "message";
        yield [textOfBlock(block), { origin, sequence: own ?? messages.get(id) ?? null }];
      }
    }
  }

  function parts(state: SessionState, body: JsonObject): readonly RequestPart[] {
    const found: RequestPart[] = [];
    const add = (path: string, value: unknown, place: Place): void =>
      void found.push({ path, ...place, tokens: Math.max(1, estimateTokens(value)) });
    if (Array.isArray(body["tools"])) add("tools", body["tools"], { origin: "tools", sequence: null });
    const system = blocksOf((body["system"] ?? []) as string | ContentBlock[]);
    for (const [at, block] of system.entries()) add(`system.${at}`, block, { origin: "system", sequence: null });
    const places = [...known(state)];
    let next = 0;
    for (const [at, { role, content }] of (body["messages"] as Sent[]).entries()) {
      for (const [part, block] of blocksOf(content).entries()) {
        const text = textOfBlock(block);
        let same = next;
        while (same < places.length && places[same]?.[0] !== text) same++;
        // A message that the loop adds only for this call is not in the log, for example the request for a summary.
        const added: Place = { origin: role === "assistant" ? "model" : "system", sequence: null };
        if (same < places.length) next = same + 1;
        add(`messages.${at}.${part}`, block, places[same]?.[1] ?? added);
      }
    }
    return found;
  }

  return { note, parts };
}

interface Sent {
  readonly role: "user" | "assistant";
  readonly content: string | ContentBlock[];
}

/** Returns the JSON of a block without cache marks, because each request sets them again. */
function textOfBlock(block: ContentBlock): string {
  return JSON.stringify(block, (key, value: unknown) => (key === "cache_control" ? undefined : value)).trimEnd();
}
