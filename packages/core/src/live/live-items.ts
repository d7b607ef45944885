import type { DraftPiece, Event } from "@skein/protocol";
import { type FollowLive, followLive } from "./follow-live.ts";

interface LiveItems extends Omit<FollowLive, "facts"> {
  readonly facts: (stop: AbortSignal) => AsyncIterable<Event>;
}

/** Yields the facts of a session's log and, between them, the drafts of its steps. */
export async function* liveItems(
  { facts, ...followed }: LiveItems,
  signal?: AbortSignal,
): AsyncGenerator<Event | DraftPiece> {
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  const queue: (Event | DraftPiece)[] = [];
  let isOver = false;
  let wake = (): void => {};
  let taken = (): void => {};
  const following = followLive(
    { ...followed, facts: () => facts(stop.signal) },
    {
      fact(event) {
        queue.push(event);
        wake();
        return new Promise((resolve) => {
          taken = () => resolve(!stop.signal.aborted);
        });
      },
      pieces(pieces) {
        queue.push(...pieces);
        wake();
      },
    },
  ).finally(() => {
    isOver = true;
    wake();
  });
  // If `followLive` fails, the error is thrown only after all earlier items were yielded.
  const settled = following.catch(() => {});
  try {
    for (;;) {
      const item = queue.shift();
      if (item) {
        yield item;
        if ("event_type" in item) taken();
      } else if (isOver) return await following;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    abort();
    taken();
    await settled;
  }
}
