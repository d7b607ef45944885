import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";
import { capsOf } from "../../src/shares/caps.ts";
import { createRunPlaces, queuedRun, runLines } from "../../src/shares/run-places.ts";
import { Policy } from "../../src/policy/policy.ts";

test("a run that waits is found among the caps of more than 200 tenants", async () => {
  const store = createMemoryStore();
  const places = createRunPlaces({ store, now: () => 0 });
  const policy = Policy.parse({ tenants: { "*": { concurrentRuns: 1 } } });
  const cap = (tenant: string) => capsOf(policy, { tenant, keyName: null, agentName: "Helper" });
  const tenants = Array.from({ length: 201 }, (_, n) => `t${String(n).padStart(3, "0")}`);
  for (const tenant of tenants) await places.enter(`runs in ${tenant}`, cap(tenant));
  for (const tenant of tenants) await places.enter(`waits in ${tenant}`, cap(tenant));
  for (const tenant of tenants)
    expect(await queuedRun(store.records, `waits in ${tenant}`)).toEqual({
      place: 1,
      reason: `The tenant "${tenant}" may have 1 run at the same time, and 1 is running.`,
    });
  expect(Object.keys(await runLines(store.records)).toSorted()).toEqual(tenants.map((tenant) => `tenant:${tenant}`));
});
