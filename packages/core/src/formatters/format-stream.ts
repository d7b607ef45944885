import type { AgentConfig, Event } from "@skein/protocol";
import type { LiveFrame } from "../live/live.ts";
import { type FormatOptions, createEnveloper } from "./enveloper.ts";
import { jsonFrames } from "./json.ts";
import { createRaw } from "./raw.ts";
import { createXml } from "./xml.ts";

export type Format = AgentConfig["formatter"];

/** The last frame of every `json` stream. */
export const DONE = "[DONE]";

/** Turns what happens into text, one item at a time. Pure but for what it remembers of the items before. */
export interface Formatter {
  add(item: Event | LiveFrame): readonly string[];
  /** What is still to be said when the source has ended: because the run is over, or because it waits. */
  end(): readonly string[];
}

const FORMATTERS: Readonly<Record<Format, (options: FormatOptions) => Formatter>> = {
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

export function createFormatter(format: Format, options: FormatOptions = {}): Formatter {
  return FORMATTERS[format](options);
}

/**
 * A run as text, in the form that its agent's `formatter` names.
 *
 * `json` and `raw` are one JSON text per item, to be framed by whoever sends them (a line, an SSE `data:`); `xml` is
 * text to be sent as it comes.
 */
export async function* formatStream(
  format: Format,
  source: AsyncIterable<Event | LiveFrame>,
  options: FormatOptions = {},
): AsyncGenerator<string> {
  const formatter = createFormatter(format, options);
  for await (const item of source) yield* formatter.add(item);
  yield* formatter.end();
}
