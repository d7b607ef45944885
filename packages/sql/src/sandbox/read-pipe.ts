import { z } from "zod";
import { type PipeMessage, HEADER_BYTES } from "./pipe-messages.ts";

const Column = z.object({ name: z.string(), type: z.string() });
const JsonMessage = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("columns"), columns: z.array(Column) }),
  z.object({ kind: z.literal("end"), rows: z.int().nonnegative(), truncated: z.boolean() }),
  z.object({ kind: z.literal("failed"), code: z.enum(["statement_failed", "over_limit"]), message: z.string() }),
]);

/** The largest message: enough for the names of a thousand columns, and for an error that quotes the statement. */
const MOST_MESSAGE_BYTES = 4 * 1024 * 1024;

/**
 * Yields the messages of a pipe. Throws if other bytes arrive, because a hostile statement may control the process that
 * writes to the pipe.
 */
export async function* readMessages(pipe: AsyncIterable<Uint8Array>): AsyncGenerator<PipeMessage> {
  let waiting = Buffer.alloc(0);
  for await (const piece of pipe) {
    waiting = Buffer.concat([waiting, piece]);
    while (waiting.length >= HEADER_BYTES) {
      const length = waiting.readUInt32BE(1);
      if (length > MOST_MESSAGE_BYTES)
        throw new Error(`A message of ${length} bytes is over the limit of ${MOST_MESSAGE_BYTES} bytes.`);
      if (waiting.length < HEADER_BYTES + length) break;
      const payload = waiting.subarray(HEADER_BYTES, HEADER_BYTES + length);
      const isData = waiting.toString("latin1", 0, 1) === "D";
      waiting = waiting.subarray(HEADER_BYTES + length);
      yield isData ? { kind: "data", bytes: payload } : JsonMessage.parse(JSON.parse(payload.toString()));
    }
  }
}
