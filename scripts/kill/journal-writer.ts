import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { AppendOptions, Appended, Store } from "@skein/core";
import { type NewEvent, isKnownError } from "@skein/protocol";
import type { Begun, Line } from "./journal.ts";

type Said = Omit<Begun, "is" | "op">;

/** The journal of a process that will be killed: its operations and their answers. */
export interface JournalWriter {
  tell(line: Line): void;
  /**
   * Records the operation, runs it, and records the answer. Returns undefined if it was rejected or its outcome is
   * unknown.
   */
  asked<Result>(
    said: Said,
    ask: () => Promise<Result>,
    answered: (result: Result) => { readonly first?: number; readonly version?: number },
  ): Promise<Result | undefined>;
  appended(
    store: Store,
    said: Said & { readonly events: readonly NewEvent[] },
    options?: AppendOptions,
  ): Promise<Appended | undefined>;
}

/** After these errors, the operation may or may not have happened. */
const GONE = ["store_unavailable", "disk_full", "closed"] as const;
const TOLD = 3;

/** Writes to file descriptor 3 synchronously, so that every record is in the pipe when the process dies. */
export function createJournalWriter(): JournalWriter {
  let lastOp = 0;
  const tell = (line: Line): void => void writeSync(TOLD, `${JSON.stringify(line)}\n`);

  const asked: JournalWriter["asked"] = async (said, ask, answered) => {
    const op = (lastOp += 1);
    tell({ is: "begun", op, ...said });
    try {
      const result = await ask();
      tell({ is: "ok", op, ...answered(result) });
      return result;
    } catch (error) {
      if (isKnownError(error, ...GONE)) {
        tell({ is: "unknown", op, code: error.code });
        await sleep(100);
      } else if (isKnownError(error)) tell({ is: "refused", op, code: error.code });
      else throw error;
      return undefined;
    }
  };

  return {
    tell,
    asked,
    appended: (store, said, options = {}) =>
      asked(
        said,
        () =>
          store.append(said.target, said.events, {
            ...options,
            ...(said.expect !== undefined && { expect: said.expect }),
            ...(said.key && { key: said.key }),
            ...(said.lease && { lease: said.lease }),
          }),
        ({ events }) => ({ first: events[0]?.sequence ?? 0 }),
      ),
  };
}
