import { describe, expect, test } from "vitest";
import { whyNoStrace } from "../../bench/store/slow-disk.ts";
import { whyNoDisk } from "../powercut/disk.ts";
import { cutPower } from "../powercut/cut-power.ts";

const missing = whyNoDisk();

/** A short run: `npm run powercut` cuts 20 times per store. */
describe.skipIf(missing !== undefined)(missing ?? "the power goes", () => {
  test.each(["sqlite", "filesystem"] as const)(
    "after a power failure, %s still has every acknowledged event",
    { timeout: 120_000 },
    async (store) => {
      const outcome = await cutPower({ store, cuts: 1, seed: 3, delayMs: [200, 300] });
      expect(outcome.violations).toEqual([]);
      expect(outcome.acknowledged).toBeGreaterThan(0);
    },
  );

  const blind = whyNoStrace();
  test.skipIf(blind !== undefined)(
    blind ?? "if fsync does nothing, the check finds lost acknowledged writes",
    { timeout: 120_000 },
    async () => {
      const outcome = await cutPower({ store: "sqlite", cuts: 1, seed: 3, delayMs: [200, 300], lying: true });
      expect(outcome.violations.length).toBeGreaterThan(0);
    },
  );
});
