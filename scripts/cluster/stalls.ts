import type { Event } from "@skein/protocol";

interface Span {
  readonly from: number;
  readonly to: number;
}

/** A gap between two events of a session that had something to do. */
export interface Stall {
  readonly ms: number;
  /** Which session, between which events and when. */
  readonly where: string;
}

/** The longest gaps between two events of a session that had something to do, not counting outages of the store. */
export function longestStalls(
  logs: readonly (readonly Event[])[],
  outages: readonly Span[],
  limit = 5,
): readonly Stall[] {
  return logs
    .flatMap((events) => stallsOf(events, outages))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, limit);
}

function stallsOf(events: readonly Event[], outages: readonly Span[]): readonly Stall[] {
  const stalls: Stall[] = [];
  let waiting = 0;
  let last: Event | undefined;
  for (const event of events) {
    if (last !== undefined && waiting > 0) {
      const span = { from: Date.parse(last.created_at), to: Date.parse(event.created_at) };
      const where = `${event.session_id} between ${last.sequence} ${last.event_type} at ${last.created_at} and ${event.sequence} ${event.event_type} at ${event.created_at}`;
      stalls.push({ ms: span.to - span.from - away(span, outages), where });
    }
    if (event.event_type === "prompt.accepted") waiting += 1;
    if (event.event_type === "session.completed" || event.event_type === "session.failed") waiting -= 1;
    last = event;
  }
  return stalls;
}

/** How long the store was unavailable within a time span. */
function away({ from, to }: Span, outages: readonly Span[]): number {
  return outages.reduce((sum, outage) => sum + Math.max(0, Math.min(to, outage.to) - Math.max(from, outage.from)), 0);
}
