/**
 * Adds up consecutive calls that belong to the same groups of a report. This saves time, because each call is in a
 * dozen groups.
 */
import type { Owner } from "./count-calls.ts";
import { addCall, newTally, type PricedCall, type Tally } from "./tally.ts";

/**
 * Consecutive calls of one session, model, day and hour. `first` and `last` are the times of the first and the last
 * call.
 */
export interface CallRun {
  readonly owner: Owner;
  readonly model: string;
  readonly day: string;
  /** The number of the hour, from `hourOf`. */
  readonly hour: number;
  first: number;
  last: number;
  readonly tally: Tally;
}

export interface CallRuns {
  add(call: PricedCall, owner: Owner, day: string, hour: number): void;
  /** Passes the last run to `onRun`. */
  end(): void;
}

/** Makes runs. Calls `onRun` with a run when the next run begins. */
export function createCallRuns(onRun: (run: CallRun) => void): CallRuns {
  let run: CallRun | undefined;
  return {
    // oxlint-disable-next-line max-params
    add(call, owner, day, hour) {
      const { time, model } = call;
      if (run?.owner !== owner || run.hour !== hour || run.day !== day || run.model !== model) {
        if (run) onRun(run);
        run = { owner, model, day, hour, first: time, last: time, tally: newTally() };
      }
      if (time < run.first) run.first = time;
      if (time > run.last) run.last = time;
      addCall(run.tally, call);
    },
    end() {
      if (run) onRun(run);
      run = undefined;
    },
  };
}
