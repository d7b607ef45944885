import { z } from "zod";
import type { Bus } from "../ports/bus.ts";
import type { Store } from "../ports/store.ts";

const CHANNEL = "news";
const SessionIds = z.array(z.string().max(100)).max(1000);

/** How long session ids are collected before they are sent in one message. */
const GATHER_MS = 5;
const IDS_OF_A_MESSAGE = 1000;

/**
 * Tells other machines which sessions have new events, so that readers on those machines get the events at once.
 * Returns a function that stops the notices.
 */
export function nudgeOthers({ store, bus }: { readonly store: Store; readonly bus: Bus }): () => void {
  const changed = new Set<string>();
  let gathering: NodeJS.Timeout | undefined;

  function send(): void {
    gathering = undefined;
    const ids = [...changed];
    changed.clear();
    for (let at = 0; at < ids.length; at += IDS_OF_A_MESSAGE) bus.say(CHANNEL, ids.slice(at, at + IDS_OF_A_MESSAGE));
  }

  const stops = [
    bus.listen(CHANNEL, (words) => {
      for (const id of SessionIds.safeParse(words).data ?? []) store.poke(id);
    }),
    store.onNews((sessionId, events) => {
      // Notices without events came from another machine and are not forwarded.
      if (!events) return;
      changed.add(sessionId);
      gathering ??= setTimeout(send, GATHER_MS);
    }),
  ];
  return () => {
    clearTimeout(gathering);
    for (const stop of stops) stop();
  };
}
