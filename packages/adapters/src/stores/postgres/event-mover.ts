import { setTimeout as delay } from "node:timers/promises";
import type { Connections } from "./connections.ts";

/** Moves the events of a database that had no partitions, while servers work. */
export interface EventMover {
  /** Settles when nothing is left to move, or this process no longer does. */
  readonly done: Promise<void>;
  stop(): void;
}

/** Events per transaction: some 100 ms, in which nobody waits, because what is read and appended takes no lock of it. */
const ROWS = 2000;
/** Another process moves, or the database is away: looked at again then. */
const AGAIN_MS = 1000;
const FIRST = "00000000-0000-0000-0000-000000000000";

const MOVE = { name: "skein-move-events", text: "select skein.move_events($1, $2)", patient: true };

export function createEventMover(connections: Connections): EventMover {
  const over = new AbortController();
  const wait = (ms: number): Promise<unknown> =>
    delay(ms, undefined, { signal: over.signal, ref: false }).catch(() => {});

  async function move(): Promise<void> {
    for (let after = FIRST; !over.signal.aborted;) {
      const began = performance.now();
      const answer = await connections.query(MOVE, [after, ROWS]).then(
        ([row]) => row?.[0] ?? "",
        () => "busy",
      );
      const [code, last = FIRST] = answer.split(" ");
      if (code === "done") return;
      if (code === "moved") after = last;
      // Half of the time belongs to the others.
      await wait(code === "moved" ? performance.now() - began : AGAIN_MS);
    }
  }

  return { done: move(), stop: () => over.abort() };
}
