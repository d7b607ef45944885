import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder } from "../../server/test/world.ts";
import { type Ended, call, environmentOf } from "./skein.ts";

function skein(data: string, ...args: readonly string[]): Promise<Ended> {
  return call([...args, "--data", data], { env: environmentOf(data), cwd: data });
}

test("policy explain says in sentences what a key can do, and a contradictory policy is rejected with an error message", async () => {
  const data = folder();
  const place = ["--config", join(data, "rules.ts")];
  writeFileSync(
    join(data, "rules.ts"),
    'export default { policy: { keys: { ci: { tools: ["Read"], spendPerDayUsd: 5 } }, tenants: { acme: { concurrentRuns: 3 } }, agents: { Reviewer: { spendPerDayUsd: 2, spendAskAtPercent: 50 } } } };',
  );
  await skein(data, "keys", "make", "an-earlier-key");
  await skein(data, "keys", "make", "ci", "--tenant", "acme");
  await skein(data, "keys", "make", "a-later-key");
  const { code, out } = await skein(data, "policy", "explain", "ci", ...place);
  expect(code).toBe(0);
  expect(out).toContain('The key "ci" belongs to the tenant "acme".');
  expect(out).toContain('Sandbox: required, because the key "ci" does not have the scope admin.');
  expect(out).toContain("Tools: Read.");
  expect(out).toContain("Spending: at most $5.00 per day (UTC).");
  expect(out).toContain('All keys of the tenant "acme" together: Runs at the same time: at most 3.');
  expect(out).toContain(
    'Cap of the key "ci", today (UTC): $0.00 of $5.00 spent, $0.00 reserved; people are asked at 80 %.',
  );
  expect(out).toContain('Cap of the tenant "acme", today (UTC): 0 of 3 runs under way, 0 waiting.');
  const json = await skein(data, "policy", "explain", "ci", "--json", ...place);
  expect(JSON.parse(json.out)).toMatchObject({
    key: "ci",
    tenant: "acme",
    sentences: expect.any(Array) as object,
    caps: [
      { of: "key", name: "ci", runs: null, spend: { limit_usd: 5, spent_usd: 0, ask_at_percent: 80 } },
      { of: "tenant", name: "acme", runs: { limit: 3, under_way: 0, waiting: 0 }, spend: null },
      { of: "agent", name: "Reviewer", spend: { limit_usd: 2, ask_at_percent: 50 } },
    ],
  });

  expect((await skein(data, "policy", "explain", "nobody", ...place)).err).toContain('There is no valid key "nobody"');
  writeFileSync(join(data, "other.ts"), 'export default { policy: { tools: ["Bush"] } };');
  const wrong = await skein(data, "policy", "explain", "ci", "--config", join(data, "other.ts"));
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('There is no tool "Bush" on this server.')]);
});
