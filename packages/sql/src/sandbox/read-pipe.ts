import { z } from "zod";
import { type Frame, HEAD_BYTES } from "./pipe-messages.ts";

const Column = z.object({ name: z.string(), type: z.string() });
const JsonFrame = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("columns"), columns: z.array(Column) }),
  z.object({ kind: z.literal("end"), rows: z.int().nonnegative(), truncated: z.boolean() }),
  z.object({ kind: z.literal("failed"), code: z.enum(["statement_failed", "over_limit"]), message: z.string() }),
]);

/** A statement may have a thousand columns, and an error may quote it. */
const FRAME_BYTES = 4 * 1024 * 1024;

/** The frames of a pipe. Throws at what is none: a statement may have taken over the process that writes there. */
export async function* framesOf(pipe: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let waiting = Buffer.alloc(0);
  for await (const piece of pipe) {
    waiting = Buffer.concat([waiting, piece]);
    while (waiting.length >= HEAD_BYTES) {
      const length = waiting.readUInt32BE(1);
      if (length > FRAME_BYTES) throw new Error(`A frame of ${length} bytes is over the limit.`);
      if (waiting.length < HEAD_BYTES + length) break;
      const payload = waiting.subarray(HEAD_BYTES, HEAD_BYTES + length);
      const isData = waiting.toString("latin1", 0, 1) === "D";
      waiting = waiting.subarray(HEAD_BYTES + length);
      yield isData ? { kind: "data", bytes: payload } : JsonFrame.parse(JSON.parse(payload.toString()));
    }
  }
}
