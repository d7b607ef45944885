import type { ApiCap } from "@skein/protocol";
import type { Records } from "../ports/records.ts";
import type { Cap } from "./caps.ts";
import { runLine } from "./run-places.ts";
import { spentToday } from "./spend-ledger.ts";

const DAY_MS = 86_400_000;

/** Returns caps with their current use, in the format of the API. */
export function capUses(records: Records, caps: readonly Cap[], now: number): Promise<readonly ApiCap[]> {
  return Promise.all(
    caps.map(async (cap): Promise<ApiCap> => {
      const { kind, name, runs, spend, askAtPercent } = cap;
      const line = runs === undefined ? undefined : await runLine(records, cap);
      const day = spend === undefined ? undefined : await spentToday(records, cap, now);
      return {
        of: kind,
        name,
        runs:
          line && runs !== undefined
            ? { limit: runs, under_way: line.running.length, waiting: line.waiting.length }
            : null,
        spend:
          day && spend !== undefined
            ? {
                limit_usd: usd(spend),
                spent_usd: usd(day.spent),
                reserved_usd: usd(day.reserved),
                ask_at_percent: askAtPercent ?? null,
                is_allowed: day.isAllowed,
                resets_at: new Date((Math.floor(now / DAY_MS) + 1) * DAY_MS).toISOString(),
              }
            : null,
      };
    }),
  );
}

function usd(picos: bigint): number {
  return Number(picos) / 1e12;
}
