import { expect, test } from "vitest";
import { runLedgerCampaign } from "../ledger/campaign.ts";

test("the recorded usage of interrupted calls equals the simulator's counts, or has fewer output tokens", async () => {
  const outcome = await runLedgerCampaign({ cancels: 12, cuts: 12, kills: 0, stops: 0, seed: 7, store: "memory:" });
  expect(outcome).toMatchObject({ sessions: 24, violations: [] });
  expect(outcome.told).toBeGreaterThan(12);
});
