import { setTimeout as delay } from "node:timers/promises";
import type { Connections } from "./connections.ts";

/** Moves events from a table without partitions to the table with partitions, while servers are running. */
export interface EventMover {
  /** Settles when nothing is left to move, or when this process stops moving. */
  readonly done: Promise<void>;
  stop(): void;
}

/** How many events a transaction moves in about 100 ms. Reads and appends do not wait for it. */
const ROWS = 2000;
/** How long to wait if another process moves events, or the database is unavailable. */
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
      // The pause is as long as the work, so that other statements get half of the time.
      await wait(code === "moved" ? performance.now() - began : AGAIN_MS);
    }
  }

  return { done: move(), stop: () => over.abort() };
}
