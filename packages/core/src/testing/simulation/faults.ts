import type { Random } from "./random.ts";

/** How often each fault happens. Probabilities are per occasion, times in virtual milliseconds. */
export interface Faults {
  /** A worker or client dies at one of its turns (a point at which it waits). */
  readonly crash: number;
  /** A worker stops, often for longer than its lease, and continues as if nothing had happened. */
  readonly freeze: number;
  /** A call to the store fails before the commit. */
  readonly unavailable: number;
  /** The store commits the request, and its answer is lost. */
  readonly lostAnswer: number;
  /** The caller is told that the store is unavailable, but the request arrives later. */
  readonly late: number;
  /** News of an append does not arrive. */
  readonly lostNews: number;
  /** A stream breaks between two events. */
  readonly cutStream: number;
  /** The model rejects a call. */
  readonly modelFails: number;
  /** The limit for the latency of one direction, to or from the store. */
  readonly latencyMs: number;
}

/** Draws the faults of a seed. Each kind of fault is off, rare or frequent, so that seeds have different faults. */
export function drawFaults(random: Random): Faults {
  const rate = (often: number): number => random.pick([0, often / 5, often]);
  return {
    crash: rate(0.015),
    freeze: rate(0.008),
    unavailable: rate(0.08),
    lostAnswer: rate(0.08),
    late: rate(0.05),
    lostNews: rate(0.5),
    cutStream: rate(0.1),
    modelFails: rate(0.2),
    latencyMs: random.pick([0, 3, 20, 120]),
  };
}
