import type { Connections } from "./connections.ts";

/**
 * Updates the sums of sessions and runs from time to time. Without these sums, queries have the same results but are
 * slower.
 */
export interface RollUp {
  /** Called after each append. */
  noted(): void;
  stop(): void;
}

const EVERY_MS = 5000;
/** How many runs a transaction adds up. More runs wait after a migration, or if no server was running for a while. */
const RUNS = 2000;
const STATEMENT = { name: "skein-roll-up", text: "select skein.roll_up($1)", patient: true };

export function createRollUp(connections: Connections): RollUp {
  let isDue = true;
  let isBusy = false;
  const over = new AbortController();

  async function rollUp(): Promise<void> {
    if (isBusy || !isDue) return;
    isBusy = true;
    isDue = false;
    try {
      while (!over.signal.aborted && Number((await connections.query(STATEMENT, [RUNS]))[0]?.[0]) === RUNS);
    } catch {
      // The database is unavailable, so the rest is added up next time.
      isDue = true;
    } finally {
      isBusy = false;
    }
  }

  const timer = setInterval(() => void rollUp(), EVERY_MS).unref();
  return {
    noted() {
      isDue = true;
    },
    stop() {
      over.abort();
      clearInterval(timer);
    },
  };
}
