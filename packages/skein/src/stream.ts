import { draftsOf } from "@skein/core";
import type { DraftPiece, Event } from "@skein/protocol";
import { type Watched, followRunLive, tell } from "./follow-run.ts";
import { type PartialDraft, createPartialOutputs } from "./partial-output.ts";

/** Yields the events of a run in order, with the drafts between them. With `isTyped`, drafts have partial answers. */
export async function* streamRun(watched: Watched, isTyped: boolean): AsyncGenerator<Event | PartialDraft<unknown>> {
  const withPartial = isTyped ? createPartialOutputs() : undefined;
  for await (const item of streamItems(watched)) {
    if ("event_type" in item) yield item;
    else for (const draft of draftsOf([item])) yield withPartial ? await withPartial(draft) : draft;
  }
}

/** Yields the events of a run in order, with every draft piece (an event of the model's own stream) between them. */
export async function* streamItems(watched: Watched): AsyncGenerator<Event | DraftPiece> {
  const { shownAfter = 0 } = watched;
  for await (const item of followRunLive(watched)) {
    if ("event_type" in item) {
      if (item.sequence <= shownAfter) continue;
      tell(watched, item);
    }
    yield item;
  }
}
