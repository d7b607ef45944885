import type { Event } from "@skein/protocol";

/** A stretch of time, in milliseconds since 1970. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** A fault from its beginning to its repair. */
export interface StruckFault extends Span {
  readonly name: string;
  readonly stopsStore: boolean;
}

/** A wait of a caller, of a reader, or of a session that had something to do. */
export interface Stall {
  readonly ms: number;
  /** Says who waited, for what and when, and which faults happened at that time. */
  readonly where: string;
}

/** A wait that a client saw. */
export interface Wait extends Span {
  readonly where: string;
}

const MOST = 5;
/** A fault that was repaired this long before a wait may still be its cause. */
const AFTERMATH_MS = 3000;

/**
 * The longest gaps between two events of a session that had something to do. The time of store outages is subtracted.
 */
export function longestStalls(logs: readonly (readonly Event[])[], faults: readonly StruckFault[]): readonly Stall[] {
  return longestWaits(logs.flatMap(gapsOf), faults);
}

/** The longest waits. The time of store outages is subtracted. */
export function longestWaits(waits: readonly Wait[], faults: readonly StruckFault[]): readonly Stall[] {
  return waits
    .map((wait) => ({ wait, ms: wait.to - wait.from - away(wait, faults) }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, MOST)
    .map(({ wait, ms }) => ({ ms, where: `${wait.where}; ${faultsAround(wait, faults)}` }));
}

function gapsOf(events: readonly Event[]): readonly Wait[] {
  const gaps: Wait[] = [];
  let waiting = 0;
  let last: Event | undefined;
  for (const event of events) {
    if (last !== undefined && waiting > 0) {
      const span = { from: Date.parse(last.created_at), to: Date.parse(event.created_at) };
      const where = `session ${event.session_id} between ${last.sequence} ${last.event_type} at ${last.created_at} and ${event.sequence} ${event.event_type} at ${event.created_at}`;
      gaps.push({ ...span, where });
    }
    if (event.event_type === "prompt.accepted") waiting += 1;
    if (event.event_type === "session.completed" || event.event_type === "session.failed") waiting -= 1;
    last = event;
  }
  return gaps;
}

/** How long the store was unavailable within a time span. */
function away({ from, to }: Span, faults: readonly StruckFault[]): number {
  return faults
    .filter(({ stopsStore }) => stopsStore)
    .reduce((sum, outage) => sum + Math.max(0, Math.min(to, outage.to) - Math.max(from, outage.from)), 0);
}

/** The faults that may have caused a wait. Their times count from the beginning of the wait. */
function faultsAround({ from, to }: Span, faults: readonly StruckFault[]): string {
  const seconds = (time: number): string => `${time < from ? "-" : "+"}${(Math.abs(time - from) / 1000).toFixed(1)}`;
  const around = faults.filter((fault) => fault.from < to && fault.to + AFTERMATH_MS > from);
  if (around.length === 0) return "no fault";
  return around.map((fault) => `${fault.name} (${seconds(fault.from)} to ${seconds(fault.to)} s)`).join(", ");
}
