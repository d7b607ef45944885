import type { Store } from "@skein/core";
import type { Query } from "./query.ts";

/** Measures how much PostgreSQL's clock differs from the clock of this machine. */
export interface ServerClock {
  /** How many milliseconds must be added to a time of this machine to get PostgreSQL's time. */
  readonly ahead: () => number;
  measure(): Promise<void>;
  stop(): void;
}

/** Differences up to this are ignored, because a measurement is only as precise as a round trip. */
const SAME_MS = 2000;
/** How often the difference is measured. A clock may change while the process runs. */
const MEASURE_MS = 15_000;

const SERVER_TIME = { name: "skein-server-time", text: "select extract(epoch from clock_timestamp()) * 1000" };

export function createServerClock(deps: { readonly query: Query; readonly clock: () => number }): ServerClock {
  let ahead = 0;

  async function measure(): Promise<void> {
    const began = deps.clock();
    const [row] = await deps.query(SERVER_TIME);
    const difference = Number(row?.[0]) - (began + deps.clock()) / 2;
    ahead = Math.abs(difference) <= SAME_MS ? 0 : difference;
  }

  // While PostgreSQL does not answer, the last measurement is used.
  const timer = setInterval(() => void measure().catch(() => undefined), MEASURE_MS).unref();
  return { ahead: () => ahead, measure, stop: () => clearInterval(timer) };
}

/**
 * Returns a store whose due times follow PostgreSQL's clock, while callers use the clock of their machine. Even if that
 * clock is an hour ahead, a session that is due now is due now for every worker.
 */
export function onServerClock(store: Store, { ahead }: Pick<ServerClock, "ahead">): Store {
  const there = <Time extends number | null | undefined>(time: Time): Time =>
    typeof time === "number" ? ((time + ahead()) as Time) : time;
  const here = <Time extends number | null>(time: Time): Time => (time === null ? time : ((time - ahead()) as Time));
  return {
    ...store,
    append(sessionId, events, options = {}) {
      const { dueAt, release } = options;
      if (ahead() === 0 || (dueAt === undefined && !release)) return store.append(sessionId, events, options);
      return store.append(sessionId, events, {
        ...options,
        ...(dueAt !== undefined && { dueAt: there(dueAt) }),
        ...(release && { release: { dueAt: there(release.dueAt) } }),
      });
    },
    release: (lease, next) => store.release(lease, { ...next, dueAt: there(next.dueAt) }),
    async claim(options) {
      const claim = await store.claim(options);
      if (claim.kind === "busy") return { ...claim, until: here(claim.until) };
      return claim.kind === "none" ? { ...claim, nextAt: here(claim.nextAt) } : claim;
    },
    async due(query) {
      const due = await store.due({ ...query, before: there(query.before) });
      return due.map((session) => ({ ...session, dueAt: here(session.dueAt) }));
    },
  };
}
