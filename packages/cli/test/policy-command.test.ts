import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder } from "../../server/test/world.ts";
import { type Ended, call, environmentOf } from "./skein.ts";

function skein(data: string, ...args: readonly string[]): Promise<Ended> {
  return call([...args, "--data", data], { env: environmentOf(data), cwd: data });
}

test("policy explain says in sentences what a key can do, and a policy that cannot be meant is a sentence", async () => {
  const data = folder();
  const place = ["--config", join(data, "rules.ts")];
  writeFileSync(
    join(data, "rules.ts"),
    'export default { policy: { keys: { ci: { tools: ["Read"], spendPerDayUsd: 5 } } } };',
  );
  await skein(data, "keys", "make", "ci", "--tenant", "acme");
  const { code, out } = await skein(data, "policy", "explain", "ci", ...place);
  expect(code).toBe(0);
  expect(out).toContain('The key "ci" belongs to the tenant "acme" and has the scope run.');
  expect(out).toContain('Sandbox: required, because the key "ci" does not have the scope admin.');
  expect(out).toContain("Tools: Read.");
  expect(out).toContain("Spending: at most $5.00 a day (UTC).");
  const json = await skein(data, "policy", "explain", "ci", "--json", ...place);
  expect(JSON.parse(json.out)).toMatchObject({ key: "ci", tenant: "acme", sentences: expect.any(Array) as object });

  expect((await skein(data, "policy", "explain", "nobody", ...place)).err).toContain('There is no valid key "nobody"');
  writeFileSync(join(data, "other.ts"), 'export default { policy: { tools: ["Bush"] } };');
  const wrong = await skein(data, "policy", "explain", "ci", "--config", join(data, "other.ts"));
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('There is no tool "Bush" on this server.')]);
});
