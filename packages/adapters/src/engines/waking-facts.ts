import type { Event } from "@skein/protocol";

/** Clients and people append these facts. Each of them makes a session due. */
const WAKING: ReadonlySet<Event["event_type"]> = new Set([
  "prompt.accepted",
  "await.answered",
  "cancel.requested",
  "rewind.requested",
]);

/** Whether a session is due because of these events. */
export function isWoken(events: readonly Event[]): boolean {
  return events.some(({ event_type }) => WAKING.has(event_type));
}
