import { type FactData, type ModelPrice, type Usage, exactCost, microsOf, priceCall } from "@skein/protocol";
import type { Reservation, SessionState } from "./state.ts";

/**
 * How long a reservation (what a broken model call may have cost) counts, unless a complete answer of the model ends
 * it. After a day, the figures of the provider are known.
 */
const RESERVED_MS = 24 * 60 * 60_000;

export function reservedUntil(at: string): string {
  return new Date(Date.parse(at) + RESERVED_MS).toISOString();
}

export function reserve(state: SessionState, reservation: Reservation): void {
  if (reservation.micros > 0) state.reservations.push(reservation);
}

/** Sums the reservations of a session, or of a run. */
export function reservedMicros({ reservations }: SessionState, now: number, runId?: string): number {
  return reservations
    .filter((one) => (runId === undefined || one.runId === runId) && Date.parse(one.until) > now)
    .reduce((sum, { micros }) => sum + micros, 0);
}

/** A model call that broke off: its known usage, and the most that it can have used. */
export interface OpenEnded {
  readonly runId: string;
  readonly model: string;
  readonly known: Usage;
  readonly most: Usage;
  readonly price?: ModelPrice | undefined;
  readonly now: number;
}

/**
 * Returns the fields of a fact that reserve what a call may have cost beyond its known cost. Returns undefined if this
 * amount is 0 or the model has no price.
 */
export function reservationFor(
  state: SessionState,
  { runId, model, known, most, price, now }: OpenEnded,
): Pick<FactData<"step.abandoned">, "reserved_micros" | "reservation"> | undefined {
  const [least, limit] = [priceCall(model, known, price), priceCall(model, most, price)];
  const micros = least && limit ? microsOf(exactCost(limit).total - exactCost(least).total) : 0;
  if (micros <= 0) return undefined;
  return {
    reserved_micros: micros,
    reservation: {
      run_micros: reservedMicros(state, now, runId) + micros,
      session_micros: reservedMicros(state, now) + micros,
      until: reservedUntil(new Date(now).toISOString()),
    },
  };
}
