import { createMemoryStore, createSpendLedger, sweepSpending } from "@skein/core";
import { expect, test } from "vitest";
import { type Cap } from "../../src/shares/caps.ts";
import { spentToday } from "../../src/shares/spend-ledger.ts";

const DAY = 86_400_000;
const cap: Cap = {
  scope: "tenant:a",
  kind: "tenant",
  name: "a",
  of: 'tenant "a"',
  runs: undefined,
  spend: 1_000_000n,
  askAt: undefined,
  askAtPercent: undefined,
};

test("days of spending are removed only after their retention, and today's amount stays", async () => {
  const { records } = createMemoryStore();
  const today = Date.parse("2026-06-30T12:00:00Z");
  let time = today;
  const ledger = createSpendLedger({ records, now: () => time });
  // More than one page of records.
  for (let ago = 300; ago >= 0; ago--) {
    time = today - ago * DAY;
    await ledger.settle({ sessionId: "s", call: `c${ago}`, spent: 7n }, [cap]);
  }
  await sweepSpending(records, { now: today, keepDays: 30 });
  const spent = async (ago: number) => (await spentToday(records, cap, today - ago * DAY)).spent;
  expect(await Promise.all([0, 1, 30, 31, 299, 300].map(spent))).toEqual([7n, 7n, 7n, 0n, 0n, 0n]);
});
