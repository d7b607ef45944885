import type { CutFault, EndEarlyFault, ErrorFault, HangFault, InsteadFault, Step, StreamErrorFault } from "./script.ts";

/** The faults of one call: failures that its script requests. */
export interface Faults {
  readonly error: ErrorFault | null;
  readonly streamError: StreamErrorFault | null;
  readonly cut: CutFault | null;
  readonly hang: HangFault | null;
  readonly endEarly: EndEarlyFault | null;
  readonly instead: InsteadFault | null;
}

export const NO_FAULTS: Faults = {
  error: null,
  streamError: null,
  cut: null,
  hang: null,
  endEarly: null,
  instead: null,
};

const MAXIMUM_COUNTERS = 10_000;

/**
 * Decides which faults of a step happen at this call.
 *
 * A fault with `times` is counted per script text and step number. Two conversations with the same script share the
 * count, unless their labels differ. Scripts have no other state.
 */
export function createFaultCounter(): (step: Step, key: string) => Faults {
  const counters = new Map<string, number>();

  function due(key: string, fault: { readonly times?: number }): boolean {
    if (fault.times === undefined) return true;
    const before = counters.get(key) ?? 0;
    if (before >= fault.times) return false;
    const oldest = counters.size >= MAXIMUM_COUNTERS ? counters.keys().next().value : undefined;
    if (oldest !== undefined) counters.delete(oldest);
    counters.set(key, before + 1);
    return true;
  }

  return (step, key) => {
    const { error, streamError, cut, instead } = step;
    const hang = step.hang === true ? {} : step.hang;
    const endEarly = step.endEarly === true ? {} : step.endEarly;
    if (!error && !streamError && !cut && !hang && !endEarly && !instead) return NO_FAULTS;
    // A call that gets an error has no answer, so all other faults of the step wait for a later call.
    if (error && due(`error ${key}`, error)) return { ...NO_FAULTS, error };
    return {
      error: null,
      streamError: streamError && due(`stream-error ${key}`, streamError) ? streamError : null,
      cut: cut && due(`cut ${key}`, cut) ? cut : null,
      hang: hang && due(`hang ${key}`, hang) ? hang : null,
      endEarly: endEarly && due(`end-early ${key}`, endEarly) ? endEarly : null,
      instead: instead && due(`instead ${key}`, instead) ? instead : null,
    };
  };
}
