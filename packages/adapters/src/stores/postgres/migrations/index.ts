import { tables } from "./0001-tables.ts";
import { sessionLists } from "./0004-session-lists.ts";
import { runModels } from "./0005-run-models.ts";
import { lastUsed } from "./0006-last-used.ts";
import { exactCost } from "./0007-exact-cost.ts";
import { partitionedEvents } from "./0008-partitioned-events.ts";
import { firstSums, runsByTime, sums } from "./0009-sums.ts";
import { firstUnknownEffects, keysAndEffects, unknownEffectsByTime } from "./0012-keys-and-effects.ts";
import { quarterHours } from "./0015-quarter-hours.ts";
import { eventTimes, eventsByTime, firstEventTimes, oneIndexOfTypes, toolTimes } from "./0017-event-times.ts";

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  /**
   * The oldest schema whose code works on a database with this migration. Migrations from number 8 on have this field,
   * because servers of two versions run during an upgrade.
   */
  readonly oldest?: number;
  /**
   * The locks on tables in use, as `skein.x in … mode`. They are taken together, before anything else.
   */
  readonly locks?: readonly string[];
  /**
   * Whether the migration only creates indexes concurrently. If so, it runs after the other migrations, outside of a
   * transaction.
   */
  readonly concurrent?: boolean;
  /** Whether the migration runs after the concurrent ones, because it needs their indexes. */
  readonly late?: boolean;
}

/**
 * The migrations in order. An applied migration is never changed. Migrations 2 and 3 were functions, which are now
 * created again after a change.
 */
export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: "tables", sql: tables },
  { number: 4, name: "session lists", sql: sessionLists },
  { number: 5, name: "run models", sql: runModels },
  { number: 6, name: "last used", sql: lastUsed },
  { number: 7, name: "exact cost", sql: exactCost },
  {
    number: 8,
    name: "partitioned events",
    sql: partitionedEvents,
    oldest: 7,
    locks: ["skein.events in access exclusive mode", "skein.blobs in share row exclusive mode"],
  },
  {
    number: 9,
    name: "sums",
    sql: sums,
    oldest: 7,
    locks: ["skein.sessions in share row exclusive mode", "skein.runs in share row exclusive mode"],
  },
  { number: 10, name: "first sums", sql: firstSums, oldest: 7 },
  { number: 11, name: "runs by time", sql: runsByTime, oldest: 7, concurrent: true },
  { number: 12, name: "keys and effects", sql: keysAndEffects, oldest: 7 },
  { number: 13, name: "first unknown effects", sql: firstUnknownEffects, oldest: 7 },
  { number: 14, name: "unknown effects by time", sql: unknownEffectsByTime, oldest: 7, concurrent: true },
  {
    number: 15,
    name: "quarter hours",
    sql: quarterHours,
    oldest: 7,
    locks: ["skein.runs in share row exclusive mode"],
  },
  // This migration only changes functions. Its number keeps servers with schema 15 from creating their version of
  // `append` again, which ignores claims.
  { number: 16, name: "claims by append", sql: "", oldest: 7 },
  {
    number: 17,
    name: "event times",
    sql: eventTimes,
    oldest: 7,
    locks: ["skein.events in access exclusive mode"],
  },
  { number: 18, name: "first event times", sql: firstEventTimes, oldest: 7 },
  { number: 19, name: "events by time", sql: eventsByTime, oldest: 7, concurrent: true },
  { number: 20, name: "tool times", sql: toolTimes, oldest: 7 },
  {
    number: 21,
    name: "one index of types",
    sql: oneIndexOfTypes,
    oldest: 7,
    locks: ["skein.log_events in access exclusive mode"],
    late: true,
  },
];
