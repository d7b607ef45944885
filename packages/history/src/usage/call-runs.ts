/**
 * Adds up runs of calls: calls that follow each other and are in the same groups. Each call is in a dozen groups of a report, and
 * only the sum of a run is added to them.
 */
import type { Owner } from "./count-calls.ts";
import { addCall, newTally, type PricedCall, type Tally } from "./tally.ts";

/** The groups that a call belongs to. */
export interface CallGroups {
  readonly owner: Owner;
  readonly model: string;
  readonly day: string;
  /** The number of the hour, as blocks count hours. */
  readonly hour: number;
}

/** The sum of a run of calls, with the times of its first and its last call. */
export interface CallRun extends CallGroups {
  first: number;
  last: number;
  readonly tally: Tally;
}

export interface CallRuns {
  add(call: PricedCall, owner: Owner, day: string, hour: number): void;
  /** Passes on the last run. */
  end(): void;
}

/** Calls back for each run when the next one begins. */
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
