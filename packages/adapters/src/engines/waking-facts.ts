import type { Event } from "@skein/protocol";

/** Events from clients and people that make a session due (give it work to do). */
const WAKING: ReadonlySet<Event["event_type"]> = new Set([
  "prompt.accepted",
  "await.answered",
  "cancel.requested",
  "rewind.requested",
]);

/** Returns true if one of these events makes a session due. */
export function isWoken(events: readonly Event[]): boolean {
  return events.some(({ event_type }) => WAKING.has(event_type));
}
