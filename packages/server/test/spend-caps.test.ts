/** Caps on the daily spending of keys, agents and tenants, on real servers with a simulator that has prices. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSimulator } from "@skein/simulator";
import type { SkeinConfig } from "../../skein/src/serve/config-file.ts";
import {
  type Answer,
  type Caller,
  type TestServer,
  caller,
  folder,
  say,
  session,
  settled,
  testServer,
} from "./world.ts";

let model: Awaited<ReturnType<typeof createSimulator>>;
beforeAll(async () => {
  model = await createSimulator();
});
afterAll(() => model.close());

const SOON = { interval: 20 };
const AGENT = { name: "Spender", model: "claude-sonnet-4-5", max_tokens: 100 };

function start(policy: NonNullable<SkeinConfig["policy"]>, store?: string): Promise<TestServer> {
  return testServer({ modelUrl: model.url, config: { policy }, ...(store !== undefined && { store }) });
}

async function keyed(server: TestServer, name: string): Promise<Caller> {
  const { body } = await server.call("POST", "/v1/keys", { name, scopes: ["run", "admin"] });
  return caller(server.url, String(body["key"]));
}

async function runOnce(call: Caller, agent: Record<string, unknown> = AGENT): Promise<Answer["body"]> {
  const { path } = await session(call, agent);
  await say(call, path, "Hi.");
  return settled(call, path);
}

async function lastRun(call: Caller, path: string): Promise<Record<string, unknown> | undefined> {
  return (await call("GET", `${path}/runs`)).body.data[0];
}

async function spentPicos(call: Caller): Promise<bigint> {
  const { body } = await call("GET", "/v1/usage?group_by=day");
  return body.data.reduce((sum, row) => sum + BigInt(String(row["cost_picos"])), 0n);
}

async function failure(call: Caller, path: string): Promise<string> {
  const { body } = await call("GET", `${path}/events?limit=200`);
  const failed = body.data.find(({ event_type }) => event_type === "session.failed") as
    | { data: { error: { code: string; message: string }; stop_reason: string } }
    | undefined;
  return failed ? `${failed.data.stop_reason}: ${failed.data.error.message}` : "";
}

test.each([
  ["key", { keys: { ci: { spendPerDayUsd: 0.002, spendAskAtPercent: false } } }, 'The key "ci" may spend'],
  [
    "tenant",
    { tenants: { "*": { spendPerDayUsd: 0.002, spendAskAtPercent: false } } },
    'The tenant "default" may spend',
  ],
  [
    "agent",
    { agents: { Spender: { spendPerDayUsd: 0.002, spendAskAtPercent: false } } },
    'The agent "Spender" may spend',
  ],
] as const)(
  "12 concurrent runs never spend more than the cap of a %s, and the error says whose cap it is",
  async (_, policy, sentence) => {
    const server = await start(policy);
    const call = await keyed(server, "ci");
    const sessions = await Promise.all(Array.from({ length: 12 }, () => session(call, AGENT)));
    await Promise.all(sessions.map(({ path }) => say(call, path, "Tell me something. ".repeat(20))));
    for (const { path } of sessions) await settled(call, path);
    const spent = await spentPicos(call);
    expect(spent).toBeGreaterThan(0n);
    expect(spent).toBeLessThanOrEqual(2_000_000_000n);
    for (let runs = 0; ; runs++) {
      const { path } = await session(call, AGENT);
      await say(call, path, "Once more.");
      if ((await settled(call, path))["status"] === "completed" && runs < 20) continue;
      expect(await failure(call, path)).toMatch(/^budget: (?:The .* may spend|The rest of)/);
      expect(await failure(call, path)).toContain(sentence.slice(4, sentence.indexOf(" may")));
      break;
    }
    expect(await spentPicos(call)).toBeLessThanOrEqual(2_000_000_000n);
  },
);

test("runs wait for a person at a set percentage of a cap, and after one approval all of them spend up to the cap", async () => {
  const server = await start({ tenants: { default: { spendPerDayUsd: 0.01, spendAskAtPercent: 1 } } });
  const { call } = server;
  expect(await runOnce(call)).toMatchObject({ status: "completed" });
  const asking = await Promise.all([session(call, AGENT), session(call, AGENT)]);
  for (const { path } of asking) await say(call, path, "Go on.");
  const open = async () => (await call("GET", "/v1/awaits")).body.data;
  await expect.poll(async () => (await open()).length, SOON).toBe(2);
  const [first] = asking;
  const { body } = await call("GET", `${first?.path}/awaits`);
  const [asked] = body.data as { tool_use_id: string; name: string; kind: string; input: { question: string } }[];
  expect(asked).toMatchObject({ kind: "approval", name: "spend" });
  expect(asked?.input.question).toMatch(
    /^The tenant "default" has spent \$0\.\d+ of the \$0\.010000 that it may spend today\./,
  );
  const answered = await call("POST", `${first?.path}/awaits/${asked?.tool_use_id}`, { content: "allow" });
  expect(answered.status).toBeLessThan(300);
  for (const { path } of asking) expect(await settled(call, path)).toMatchObject({ status: "completed" });
  expect(await open()).toEqual([]);
  expect(await runOnce(call)).toMatchObject({ status: "completed" });
});

test("if a person denies spending, only that run ends, with an error message", async () => {
  const { call } = await start({ tenants: { default: { spendPerDayUsd: 0.01, spendAskAtPercent: 1 } } });
  await runOnce(call);
  const { path } = await session(call, AGENT);
  await say(call, path, "Go on.");
  await expect.poll(async () => (await call("GET", `${path}/awaits`)).body.data.length, SOON).toBe(1);
  const [asked] = (await call("GET", `${path}/awaits`)).body.data;
  await call("POST", `${path}/awaits/${String(asked?.["tool_use_id"])}`, { content: "deny" });
  expect(await settled(call, path)).toMatchObject({ status: "failed" });
  expect(await failure(call, path)).toMatch(/^budget: The tenant "default" is close to .* denied it\.$/);
  expect(await lastRun(call, path)).toMatchObject({ outcome: "failed" });
});

test("a run that waits for approval of its spending can be cancelled", async () => {
  const { call } = await start({ tenants: { default: { spendPerDayUsd: 0.01, spendAskAtPercent: 1 } } });
  await runOnce(call);
  const { path } = await session(call, AGENT);
  await say(call, path, "Go on.");
  await expect.poll(async () => (await call("GET", `${path}/awaits`)).body.data.length, SOON).toBe(1);
  await call("POST", `${path}/cancel`, {});
  await expect.poll(async () => (await lastRun(call, path))?.["outcome"], SOON).toBe("cancelled");
  expect((await call("GET", "/v1/awaits")).body.data).toEqual([]);
});

test("a model without a price is not called under a cap, and the error says what to do", async () => {
  const { call } = await start({ agents: { Spender: { spendPerDayUsd: 1 } } });
  const { path } = await session(call, { ...AGENT, model: "unknown-model-9" });
  const before = model.ledger.calls().length;
  await say(call, path, "Hi.");
  await settled(call, path);
  expect(await failure(call, path)).toContain(
    'The model unknown-model-9 has no price, so the daily cap of the agent "Spender" cannot be enforced.',
  );
  expect(model.ledger.calls().length).toBe(before);
});

test("the built-in simulation costs nothing, so no cap stops it", async () => {
  const { call } = await testServer({ config: { policy: { tenants: { default: { spendPerDayUsd: 0.000001 } } } } });
  expect(await runOnce(call)).toMatchObject({ status: "completed" });
});

test("spending from before a restart counts, and a lower cap stops further spending", async () => {
  const store = `sqlite:${folder()}/skein.db`;
  const first = await start({ tenants: { default: { spendPerDayUsd: 1 } } }, store);
  expect(await runOnce(first.call)).toMatchObject({ status: "completed" });
  await first.close();
  const second = await start({ tenants: { default: { spendPerDayUsd: 0.000001 } } }, store);
  const call = caller(second.url, first.key);
  const before = model.ledger.calls().length;
  const { path } = await session(call, AGENT);
  await say(call, path, "Hi.");
  expect(await settled(call, path)).toMatchObject({ status: "failed" });
  expect(await failure(call, path)).toMatch(
    /^budget: The tenant "default" may spend \$0\.000001 a day, and \$0\.\d+ is spent\./,
  );
  expect(model.ledger.calls().length).toBe(before);
});

test("a key sees only the caps of the key, its tenant and its agents, and how much of each cap is used", async () => {
  const server = await start({
    keys: { ci: { spendPerDayUsd: 1, spendAskAtPercent: 50, concurrentRuns: 4 }, other: { spendPerDayUsd: 3 } },
    tenants: { default: { spendPerDayUsd: 2, spendAskAtPercent: false } },
    agents: { Spender: { concurrentRuns: 7 }, "Of another tenant": { concurrentRuns: 1 } },
  });
  const call = await keyed(server, "ci");
  expect(await runOnce(call)).toMatchObject({ status: "completed" });
  const spent_usd = Number(await spentPicos(call)) / 1e12;
  expect(spent_usd).toBeGreaterThan(0);
  const resets_at = `${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}T00:00:00.000Z`;
  const money = { spent_usd, reserved_usd: 0, is_allowed: false, resets_at };
  const idle = { under_way: 0, waiting: 0 };
  const caps = [
    { of: "key", name: "ci", runs: { limit: 4, ...idle }, spend: { ...money, limit_usd: 1, ask_at_percent: 50 } },
    { of: "tenant", name: "default", runs: null, spend: { ...money, limit_usd: 2, ask_at_percent: null } },
    { of: "agent", name: "Spender", runs: { limit: 7, ...idle }, spend: null },
  ];
  // A run still counts as concurrent for a moment after its last events are stored.
  await expect.poll(async () => (await call("GET", "/v1/me")).body["caps"], SOON).toEqual(caps);
  expect((await call("GET", "/v1/policy")).body).toMatchObject({
    rules: { concurrent_runs: 4, spend_per_day_usd: 1, spend_ask_at_percent: 50 },
    caps,
  });
  const { body } = await server.call("GET", "/v1/me");
  expect((body["caps"] as { of: string }[]).map(({ of }) => of)).toEqual(["tenant", "agent"]);
});
