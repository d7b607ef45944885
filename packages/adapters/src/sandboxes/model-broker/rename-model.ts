import { Transform } from "node:stream";
import { parsedOrUndefined } from "@skein/core";

/**
 * The largest part of an answer that is kept in memory until the model's name is found, in bytes. If this part is
 * longer, the answer passes unchanged.
 */
const MOST_HELD = 32 * 1024 * 1024;

/**
 * Replaces the model's name in an answer. A stream has the name in its first event. An answer in another format than
 * the Messages API passes unchanged.
 */
export function renameModel(contentType: string, name: string): Transform {
  const isStream = contentType.startsWith("text/event-stream");
  let held = Buffer.alloc(0);
  let isPassing = false;

  function release(end: number): Uint8Array {
    isPassing = true;
    const first = held.subarray(0, end).toString();
    const renamed = Buffer.from(isStream ? renamedEvent(first, name) : renamedBody(first, name));
    return Buffer.concat([renamed, held.subarray(end)]);
  }

  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      if (isPassing) return done(null, chunk);
      held = Buffer.concat([held, chunk]);
      const end = isStream ? endOfFirstEvent(held) : undefined;
      if (end !== undefined) return done(null, release(end));
      if (held.length <= MOST_HELD) return done();
      isPassing = true;
      done(null, held);
    },
    flush(done) {
      done(null, isPassing ? undefined : release(held.length));
    },
  });
}

/** Returns the index after the first event and its empty line. */
function endOfFirstEvent(bytes: Buffer): number | undefined {
  const found = /\r?\n\r?\n/.exec(bytes.toString("latin1"));
  return found ? found.index + found[0].length : undefined;
}

/** Returns the first event with the new name in its data. */
function renamedEvent(event: string, name: string): string {
  return event.replace(/^data:(.*)$/m, (line: string, data: string) => {
    const said: { message?: { model?: unknown } } | undefined = parsedOrUndefined(data);
    if (typeof said?.message?.model !== "string") return line;
    return `data: ${JSON.stringify({ ...said, message: { ...said.message, model: name } })}`;
  });
}

function renamedBody(body: string, name: string): string {
  const said: { model?: unknown } | undefined = parsedOrUndefined(body);
  return typeof said?.model === "string" ? JSON.stringify({ ...said, model: name }) : body;
}
