import type { Event } from "@skein/protocol";

interface Span {
  readonly from: number;
  readonly to: number;
}

/** The longest time between two events of a session that had something to do, without the times in which the store was away. */
export function longestStall(logs: readonly (readonly Event[])[], outages: readonly Span[]): number {
  return Math.max(0, ...logs.flatMap((events) => stallsOf(events, outages)));
}

function stallsOf(events: readonly Event[], outages: readonly Span[]): readonly number[] {
  const stalls: number[] = [];
  let waiting = 0;
  let last: number | undefined;
  for (const { event_type, created_at } of events) {
    const at = Date.parse(created_at);
    if (last !== undefined && waiting > 0) stalls.push(at - last - away({ from: last, to: at }, outages));
    if (event_type === "prompt.accepted") waiting += 1;
    if (event_type === "session.completed" || event_type === "session.failed") waiting -= 1;
    last = at;
  }
  return stalls;
}

/** How much of a span the store was away. */
function away({ from, to }: Span, outages: readonly Span[]): number {
  return outages.reduce((sum, outage) => sum + Math.max(0, Math.min(to, outage.to) - Math.max(from, outage.from)), 0);
}
