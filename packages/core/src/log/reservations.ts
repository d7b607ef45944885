import type { FactData } from "@skein/protocol";
import type { Reservation, SessionState } from "./state.ts";

/** How long a reservation counts if the session has no answer before: by then the provider's own figures are known. */
const RESERVED_MS = 24 * 60 * 60_000;

export function reservedUntil(at: string): string {
  return new Date(Date.parse(at) + RESERVED_MS).toISOString();
}

export function reserve(state: SessionState, reservation: Reservation): void {
  if (reservation.micros > 0) state.reservations.push(reservation);
}

/** What is reserved now, in the whole session or in one of its runs. */
export function reservedMicros({ reservations }: SessionState, now: number, runId?: string): number {
  return reservations
    .filter((one) => (runId === undefined || one.runId === runId) && Date.parse(one.until) > now)
    .reduce((sum, { micros }) => sum + micros, 0);
}

/** What a fact says of a reservation that is added to those of this state. */
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
