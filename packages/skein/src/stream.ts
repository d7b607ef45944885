import { draftOf } from "@skein/core";
import type { Draft, Event } from "@skein/protocol";
import { type Watched, followRun } from "./follow-run.ts";

/** A run as it happens: facts from the log in order, drafts in between as they are made. */
export async function* streamRun(watched: Watched): AsyncGenerator<Event | Draft> {
  const { host, sessionId, shownAfter = 0 } = watched;
  const stop = new AbortController();
  const following = followRun(watched, stop);
  const queue: (Event | Draft)[] = [];
  let over = false;
  let failure: unknown;
  let wake = (): void => {};
  const push = (item: Event | Draft): void => {
    queue.push(item);
    wake();
  };
  const unsubscribe = host.live.subscribe(sessionId, (frame) => {
    const draft = draftOf(frame);
    if (draft) push(draft);
  });
  const reading = (async () => {
    for await (const event of following) if (event.sequence > shownAfter) push(event);
  })()
    .catch((error: unknown) => (failure = error))
    .finally(() => {
      over = true;
      wake();
    });
  try {
    for (;;) {
      const item = queue.shift();
      if (item) yield item;
      else if (failure !== undefined) throw failure;
      else if (over) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    unsubscribe();
    stop.abort();
    await reading;
  }
}
