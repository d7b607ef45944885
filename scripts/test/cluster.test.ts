import { describe, expect, test } from "vitest";
import { runChaos } from "../cluster/chaos.ts";
import { noRedis } from "../redis.ts";
import { noRestate } from "../restate.ts";

describe.skipIf(noRedis ?? noRestate)("a cluster on this machine", () => {
  test(
    "a cluster loses no prompt, repeats no effect and continues while a worker, Restate, PostgreSQL and connections fail",
    { timeout: 240_000 },
    async () => {
      const outcome = await runChaos({
        sessions: 12,
        prompts: 1,
        thinkMs: 500,
        strikes: 5,
        everyMs: [300, 800],
        postgresDownMs: 1000,
        restateNodes: 1,
        seed: 5,
        only: [
          "kill -9 worker-1",
          "kill -9 restate-1",
          "cut the links of the workers",
          "FLUSHALL",
          "restart PostgreSQL",
        ],
      });
      expect(outcome.violations).toEqual([]);
      expect(outcome.accepted).toBeGreaterThanOrEqual(12);
      expect(outcome.answered).toBe(outcome.accepted);
      expect(outcome.effects).toBeGreaterThan(0);
      // All sessions wait while the only Restate server restarts, which takes long on a busy machine.
      expect(outcome.worstStalls[0]?.ms ?? 0).toBeLessThan(15_000);
    },
  );
});
