import { Transform } from "node:stream";
import { createParser } from "eventsource-parser";
import { z } from "zod";

/** The usage of one answer, as its server reported it. */
export const ReportedUsage = z.object({
  input_tokens: z.number().nullish(),
  output_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
  cache_read_input_tokens: z.number().nullish(),
});
export type ReportedUsage = z.infer<typeof ReportedUsage>;

const WithUsage = z.object({
  usage: ReportedUsage.optional(),
  message: z.object({ id: z.string().optional(), usage: ReportedUsage.optional() }).optional(),
});

export interface AnswerTap {
  /** Called when a streamed answer begins, with its id. */
  readonly onBegun: (id: string) => void;
  /** Called when the answer has ended or was cut off, with the usage that it contained. */
  readonly onUsage: (usage: ReportedUsage) => void;
}

/** Passes an answer through unchanged, and reports the usage in it. */
export function tapAnswer(contentType: string, { onBegun, onUsage }: AnswerTap): Transform {
  const isStream = contentType.startsWith("text/event-stream");
  let usage: ReportedUsage | undefined;
  const note = (json: string): void => {
    const found = WithUsage.safeParse(parsed(json)).data;
    if (isStream && found?.message?.id !== undefined) onBegun(found.message.id);
    const told = found?.usage ?? found?.message?.usage;
    // A stream reports its input first and its output repeatedly: the last value counts.
    if (told) usage = { ...usage, ...told };
  };
  const parser = createParser({ onEvent: ({ data }) => void (data.includes('"usage"') && note(data)) });
  const decoder = new TextDecoder();
  let whole = "";
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      const text = decoder.decode(chunk, { stream: true });
      if (isStream) parser.feed(text);
      else whole += text;
      done(null, chunk);
    },
    destroy(error, done) {
      if (!isStream) note(whole);
      if (usage) onUsage(usage);
      done(error);
    },
  });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
