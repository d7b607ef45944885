import { draftsOf } from "@skein/core";
import type { Draft, DraftPiece, Event } from "@skein/protocol";
import { type Watched, followRunLive } from "./follow-run.ts";

/** A run as it happens: facts from the log in order, drafts in between as they are made. */
export async function* streamRun(watched: Watched): AsyncGenerator<Event | Draft> {
  for await (const item of streamItems(watched)) {
    if ("event_type" in item) yield item;
    else yield* draftsOf([item]);
  }
}

/** The same with everything that the model streams, as formatters need it. */
export async function* streamItems(watched: Watched): AsyncGenerator<Event | DraftPiece> {
  const { shownAfter = 0, onEvent } = watched;
  for await (const item of followRunLive(watched)) {
    if ("event_type" in item) {
      if (item.sequence <= shownAfter) continue;
      onEvent?.(item);
    }
    yield item;
  }
}
