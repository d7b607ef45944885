import { isKnownError } from "@skein/protocol";
import type { Store } from "../../ports/store.ts";
import type { Stream } from "../check-history.ts";
import type { Faults } from "./faults.ts";
import { createFaultyStore } from "./faulty-store.ts";
import type { Process, World } from "./world.ts";

export interface ReaderDeps {
  readonly world: World;
  readonly store: Store;
  readonly faults: () => Faults;
  readonly streams: Stream[];
  readonly known: readonly string[];
  /** True near the end of the simulation, when nothing new begins and readers stay connected. */
  readonly closing: () => boolean;
  readonly report: (error: unknown) => void;
}

/**
 * Starts a reader that follows one session after the other. In each session, the reader stops or is cut off at any
 * event, and continues at the place that it had reached, or earlier.
 */
export function startReader(name: string, deps: ReaderDeps): void {
  void read(deps.world.process(name), deps).catch(deps.report);
}

async function read(process: Process, { world, faults, streams, known, closing, ...deps }: ReaderDeps): Promise<void> {
  const { random } = world;
  const store = createFaultyStore({ world, store: deps.store, process, faults });
  for (;;) {
    await process.turn(`${process.name} looks around`, random.pick([10, 500, 4000]));
    if (known.length === 0) continue;
    const sessionId = random.pick(known);
    let after = 0;
    for (let visits = random.between(1, 6); visits > 0; visits--) {
      if (closing()) return;
      const stream: Stream = { reader: process.name, sessionId, after, events: [], complete: false };
      streams.push(stream);
      const ended = await visit(store, stream, random.chance(0.5) ? random.between(1, 12) : Infinity);
      if (ended) break;
      const reached = stream.events.at(-1)?.sequence ?? after;
      after = random.chance(0.7) ? reached : random.int(reached + 1);
      await process.turn(`${process.name} comes back`, random.pick([0, 100, 2000]));
    }
  }
}

/**
 * Reads until enough events have arrived, the stream breaks, or the session is deleted. Returns true if the reader is
 * done.
 */
async function visit(store: Store, stream: Stream, enough: number): Promise<boolean> {
  const leave = new AbortController();
  try {
    // `complete` stays true if the simulation ends during this loop, because the reader was then connected until the
    // end.
    stream.complete = true;
    for await (const event of store.follow(stream.sessionId, { after: stream.after }, leave.signal)) {
      stream.events.push(event);
      if (stream.events.length < enough) continue;
      leave.abort();
    }
    stream.complete = false;
    return !leave.signal.aborted;
  } catch (error) {
    stream.complete = false;
    if (!isKnownError(error)) throw error;
    return error.code === "not_found";
  }
}
