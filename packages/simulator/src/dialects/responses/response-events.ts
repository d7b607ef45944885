/** An answer as the named and numbered events of a stream. */
import type { JsonObject } from "../../wire.ts";
import type { Answer } from "../dialect.ts";
import { pieces, type StreamEvent } from "../stream.ts";
import { headOf, responseOf } from "./response.ts";

/** An event without its number. */
type Bare = readonly [type: string, data: JsonObject];

export function responseEvents(answer: Answer): readonly StreamEvent[] {
  const response = responseOf(answer);
  const begun = headOf(answer);
  const items = (response.output as readonly JsonObject[]).flatMap((item, output_index) =>
    itemEvents(item, output_index, answer.step),
  );
  const bare: readonly Bare[] = [
    ["response.created", { response: begun }],
    ["response.in_progress", { response: begun }],
    ...items,
    [`response.${String(response.status)}`, { response }],
  ];
  return bare.map(([type, data], sequence_number) => ({
    text: `event: ${type}\ndata: ${JSON.stringify({ type, ...data, sequence_number })}\n\n`,
    kind: kindOf(type),
  }));
}

function kindOf(type: string): StreamEvent["kind"] {
  if (type === "response.created" || type === "response.in_progress") return "start";
  if (type.endsWith(".delta")) return "delta";
  return type === "response.completed" || type === "response.incomplete" ? "end" : "part";
}

function itemEvents(item: JsonObject, output_index: number, { chunk, quirks }: Answer["step"]): readonly Bare[] {
  const place = { output_index, item_id: item.id };
  const inside = { item, place, chunk };
  const [begun, content] = openingOf(inside);
  return [
    ["response.output_item.added", { output_index, item: begun }],
    ...content,
    ["response.output_item.done", { output_index, item: quirks?.changingIds ? renamed(item) : item }],
  ];
}

/** Gives the item other ids than its earlier events had. */
function renamed(item: JsonObject): JsonObject {
  const { id, call_id: called } = item as { readonly id?: string; readonly call_id?: string };
  return { ...item, id: `${id}later`, ...(called !== undefined && { call_id: `${called}_later` }) };
}

interface Inside {
  readonly item: JsonObject;
  readonly place: JsonObject;
  readonly chunk: number | undefined;
}

/** Returns the item as its first event shows it, without content, and the events that send its content. */
function openingOf({ item, place, chunk }: Inside): readonly [JsonObject, readonly Bare[]] {
  switch (item.type) {
    case "function_call": {
      const text = String(item.arguments);
      const done: Bare = ["response.function_call_arguments.done", { ...place, name: item.name, arguments: text }];
      const deltas = deltasOf("response.function_call_arguments.delta", text, { place, chunk });
      return [{ ...item, arguments: "", status: "in_progress" }, [...deltas, done]];
    }
    case "reasoning": {
      const [part] = item.summary as readonly JsonObject[];
      const begun = { ...item, summary: [], ...("encrypted_content" in item && { encrypted_content: "" }) };
      if (!part) return [begun, []];
      const at = { ...place, summary_index: 0 };
      const text = String(part.text);
      return [
        begun,
        [
          ["response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } }],
          ...deltasOf("response.reasoning_summary_text.delta", text, { place: at, chunk }),
          ["response.reasoning_summary_text.done", { ...at, text }],
          ["response.reasoning_summary_part.done", { ...at, part }],
        ],
      ];
    }
    default: {
      const [part] = item.content as readonly JsonObject[];
      const at = { ...place, content_index: 0 };
      const text = String(part?.text);
      return [
        { ...item, status: "in_progress", content: [] },
        [
          ["response.content_part.added", { ...at, part: { ...part, text: "" } }],
          ...deltasOf("response.output_text.delta", text, { place: { ...at, logprobs: [] }, chunk }),
          ["response.output_text.done", { ...at, text, logprobs: [] }],
          ["response.content_part.done", { ...at, part }],
        ],
      ];
    }
  }
}

function deltasOf(type: string, text: string, { place, chunk }: Pick<Inside, "place" | "chunk">): readonly Bare[] {
  return pieces(text, chunk).map((delta): Bare => [type, { ...place, delta }]);
}
