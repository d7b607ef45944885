import { describe, expect, test } from "vitest";
import { whyNoStrace } from "../../bench/store/slow-disk.ts";
import { runWithFault } from "../kill/faults.ts";

const missing = whyNoStrace();

/** Only a few calls fail here; `npm run kill -- --store --faults` tries every call. */
describe.skipIf(missing !== undefined)(missing ?? "a system call fails", () => {
  test.each([
    ["sqlite", "EIO", "4"],
    ["sqlite", "ENOSPC", "70"],
    ["sqlite", "EIO", "71+"],
    ["filesystem", "EIO", "3"],
    ["filesystem", "ENOSPC", "6+"],
  ] as const)(
    "%s: after %s at call %s, every acknowledged event is stored and the store opens",
    async (store, error, when) => {
      const outcome = await runWithFault({ store, error, when });
      expect(outcome).toMatchObject({ hit: true, violations: [] });
    },
  );
});
