import { type LiveFrame, createLiveOrder, draftOf } from "@skein/core";
import type { Draft, Event } from "@skein/protocol";
import { type Watched, followRun } from "./follow-run.ts";

/** A run as it happens: facts from the log in order, drafts in between as they are made. */
export async function* streamRun(watched: Watched): AsyncGenerator<Event | Draft> {
  for await (const item of streamFrames(watched)) {
    const shown = "event_type" in item ? item : draftOf(item);
    if (shown) yield shown;
  }
}

/** The same with everything that the model streams, as formatters need it. */
export async function* streamFrames(watched: Watched): AsyncGenerator<Event | LiveFrame> {
  const { host, sessionId, shownAfter = 0 } = watched;
  const stop = new AbortController();
  const following = followRun(watched, stop);
  const queue: (Event | LiveFrame)[] = [];
  let over = false;
  let failure: Error | undefined;
  let wake = (): void => {};
  const push = (item: Event | LiveFrame): void => {
    queue.push(item);
    wake();
  };
  const order = createLiveOrder((item) => {
    if (!("event_type" in item)) return push(item);
    if (item.sequence <= shownAfter) return;
    watched.onEvent?.(item);
    push(item);
  });
  const unsubscribe = host.live.subscribe(sessionId, order.frame);
  const reading = (async () => {
    for await (const event of following) order.fact(event);
  })()
    .catch((error: unknown) => {
      failure = error instanceof Error ? error : new Error(String(error));
    })
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
