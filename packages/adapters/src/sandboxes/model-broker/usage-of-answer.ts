import { Transform } from "node:stream";
import { createParser } from "eventsource-parser";
import { z } from "zod";

/** The usage that a server reported for an answer. */
export const ReportedUsage = z.object({
  input_tokens: z.number().nullish(),
  output_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
  cache_read_input_tokens: z.number().nullish(),
  // The price of cached tokens depends on the cache duration: 5 minutes or 1 hour.
  cache_creation: z
    .object({ ephemeral_5m_input_tokens: z.number().optional(), ephemeral_1h_input_tokens: z.number().optional() })
    .nullish(),
  server_tool_use: z.object({ web_search_requests: z.number().optional() }).nullish(),
  speed: z.string().nullish(),
});
export type ReportedUsage = z.infer<typeof ReportedUsage>;

const WithUsage = z.object({
  usage: ReportedUsage.optional(),
  message: z.object({ id: z.string().optional(), usage: ReportedUsage.optional() }).optional(),
});

export interface AnswerTap {
  /** Handles the beginning of a streamed answer. */
  readonly onBegun: (id: string) => void;
  /** Gets the usage when the answer has ended or was cut off. */
  readonly onUsage: (usage: ReportedUsage) => void;
}

/** The parts of a request from which the cost of a lost answer is estimated. */
export interface AskedAnswer {
  readonly bytes: number;
  /** The token limit of the answer. */
  readonly maxTokens: number;
  readonly isStream: boolean;
}

/** The average number of bytes in a token. */
const BYTES_PER_TOKEN = 4;
/** The size of an event without its text. */
const EMPTY_PIECE = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`.length;

/**
 * Estimates the usage of an answer that was cut off before it reported its usage. Without an estimate, a program could
 * avoid the cost by disconnecting early. For a stream, counts the part that arrived. For any other answer, counts the
 * longest possible answer, because the real length is unknown.
 */
export function usageOfCut(
  { bytes, maxTokens, isStream }: AskedAnswer,
  { told = {}, streamed = 0 }: { readonly told?: ReportedUsage | undefined; readonly streamed?: number } = {},
): ReportedUsage {
  const output = isStream ? Math.min(Math.ceil(streamed / BYTES_PER_TOKEN), maxTokens) : maxTokens;
  const input = { input_tokens: Math.ceil(bytes / BYTES_PER_TOKEN), ...told };
  return { ...input, output_tokens: Math.max(output, told.output_tokens ?? 0) };
}

/** Passes on an answer unchanged, and reports its usage. */
export function tapAnswer(
  { headers, ok }: Pick<Response, "headers" | "ok">,
  { onBegun, onUsage, asked }: AnswerTap & { readonly asked: AskedAnswer },
): Transform {
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  let usage: ReportedUsage | undefined;
  let streamed = 0;
  let isWhole = false;
  const note = (json: string): void => {
    const found = WithUsage.safeParse(parsed(json)).data;
    if (isStream && found?.message?.id !== undefined) onBegun(found.message.id);
    const told = found?.usage ?? found?.message?.usage;
    // A stream reports its usage several times. The last value counts, but null only means that nothing was reported.
    const known = Object.entries(told ?? {}).filter(([, value]) => value !== null);
    if (told) usage = { ...usage, ...(Object.fromEntries(known) as ReportedUsage) };
  };
  const parser = createParser({
    onEvent({ data }) {
      streamed += Math.max(0, data.length - EMPTY_PIECE);
      if (data.includes('"usage"')) note(data);
    },
  });
  const decoder = new TextDecoder();
  let whole = "";
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      const text = decoder.decode(chunk, { stream: true });
      if (isStream) parser.feed(text);
      else whole += text;
      done(null, chunk);
    },
    flush(done) {
      isWhole = true;
      done();
    },
    destroy(error, done) {
      if (!isStream) note(whole);
      if (ok && !isWhole) usage = usageOfCut(asked, { told: usage, streamed });
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
