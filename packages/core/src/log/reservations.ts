import type { FactData } from "@skein/protocol";
import type { Reservation, SessionState } from "./state.ts";

/** How long a reservation counts if no complete answer ends it before. After a day the provider's own figures are known. */
const RESERVED_MS = 24 * 60 * 60_000;

export function reservedUntil(at: string): string {
  return new Date(Date.parse(at) + RESERVED_MS).toISOString();
}

export function reserve(state: SessionState, reservation: Reservation): void {
  if (reservation.micros > 0) state.reservations.push(reservation);
}

/** The reserved amount of a session, or of one of its runs. */
export function reservedMicros({ reservations }: SessionState, now: number, runId?: string): number {
  return reservations
    .filter((one) => (runId === undefined || one.runId === runId) && Date.parse(one.until) > now)
    .reduce((sum, { micros }) => sum + micros, 0);
}

/** The reservation to add to a state, from the fields of a fact. */
export function reservationOf(
  state: SessionState,
  { runId, micros, now }: { readonly runId: string; readonly micros: number; readonly now: number },
): Pick<FactData<"step.abandoned">, "reserved_micros" | "reservation"> {
  return {
    reserved_micros: micros,
    reservation: {
      run_micros: reservedMicros(state, now, runId) + micros,
      session_micros: reservedMicros(state, now) + micros,
      until: reservedUntil(new Date(now).toISOString()),
    },
  };
}
