import type { Event } from "@skein/protocol";

/** Functions by the type of the events that they are called with. */
export type EventListeners = {
  readonly [Type in Event["event_type"]]?: (event: Extract<Event, { event_type: Type }>) => void;
};
