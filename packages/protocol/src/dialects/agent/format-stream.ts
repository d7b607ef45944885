import type { DraftPiece } from "../../draft-piece.ts";
import type { AgentConfig } from "../../agent.ts";
import type { Event } from "../../event.ts";
import { type FormatOptions, createEnveloper } from "./enveloper.ts";
import { jsonFrames } from "./json.ts";
import { createRaw } from "./raw.ts";
import { createXml } from "./xml.ts";

export type Format = AgentConfig["formatter"];

/** The last frame of every `json` stream. */
export const DONE = "[DONE]";

/**
 * Turns events, and draft pieces (parts of an answer that the model is writing), into text, one item at a time. A
 * formatter has no side effects, but remembers earlier items.
 */
export interface TextFormatter {
  add(item: Event | DraftPiece): readonly string[];
  /**
   * Returns the rest of the output. Call it after the last item, when the run is over or waits for a person or the
   * client.
   */
  end(): readonly string[];
}

const FORMATTERS: Readonly<Record<Format, (options: FormatOptions) => TextFormatter>> = {
  json(options) {
    const enveloper = createEnveloper(options);
    return { add: (item) => enveloper.add(item).flatMap(jsonFrames), end: () => [DONE] };
  },
  xml(options) {
    const enveloper = createEnveloper(options);
    const xml = createXml();
    return {
      add: (item) => enveloper.add(item).map(xml.add).filter(Boolean),
      end: () => [xml.end()].filter(Boolean),
    };
  },
  raw() {
    const raw = createRaw();
    return { add: (item) => raw(item).map((event) => JSON.stringify(event)), end: () => [] };
  },
};

/**
 * Creates a formatter for events and draft pieces. A client gets the same text even if the formatter missed
 * draft pieces. `json` and `xml` send tool calls whole. If the model is called again after a part of
 * its answer was sent, the formatter first sends an `error` with `reset: true`.
 */
export function createFormatter(format: Format, options: FormatOptions = {}): TextFormatter {
  return FORMATTERS[format](options);
}

/**
 * Returns a run as text, in the format of its agent's `formatter`.
 *
 * In the formats `json` and `raw` every item is a JSON text. The sender must put it into a line or into SSE `data:`.
 * The sender sends `xml` unchanged.
 */
export async function* formatStream(
  format: Format,
  source: AsyncIterable<Event | DraftPiece>,
  options: FormatOptions = {},
): AsyncGenerator<string> {
  const formatter = createFormatter(format, options);
  for await (const item of source) yield* formatter.add(item);
  yield* formatter.end();
}
