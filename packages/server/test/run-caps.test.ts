/** Caps on concurrent runs, on real servers: which runs wait, what is shown, and that nothing is lost. */
import { defineTool } from "@skein/core";
import { expect, test } from "vitest";
import { z } from "zod";
import type { SkeinConfig } from "../../skein/src/serve/config-file.ts";
import { type Caller, type TestServer, caller, folder, say, scripted, session, settled, testServer } from "./world.ts";

const SOON = { interval: 20 };

/** A tool that runs until its gate opens, and counts how many calls run at the same time. */
function gatedTool() {
  let gate = Promise.withResolvers<void>();
  const seen = { running: 0, most: 0 };
  const tool = defineTool({
    name: "hold",
    description: "Waits.",
    input: z.looseObject({}),
    policy: "repeatable",
    async run() {
      seen.running += 1;
      seen.most = Math.max(seen.most, seen.running);
      await gate.promise;
      seen.running -= 1;
      return "held";
    },
  });
  return { tool, seen, open: () => gate.resolve(), shut: () => void (gate = Promise.withResolvers<void>()) };
}

const hold = scripted("Hold.", [{ tools: [{ name: "hold" }] }, { text: "Done." }]);

async function begun(call: Caller, count: number, agent = "Holder"): Promise<readonly string[]> {
  const made = await call("POST", "/v1/agents", { name: agent, tools: ["hold"] });
  return Promise.all(
    Array.from({ length: count }, async () => {
      const { body } = await call("POST", `/v1/agents/${made.body.id}/sessions`, {});
      const path = `/v1/sessions/${body.id}`;
      expect((await say(call, path, hold)).status).toBe(202);
      return path;
    }),
  );
}

async function keyed(server: TestServer, name: string): Promise<Caller> {
  const { body } = await server.call("POST", "/v1/keys", { name, scopes: ["run", "admin"] });
  return caller(server.url, String(body["key"]));
}

async function queued(call: Caller, paths: readonly string[]): Promise<readonly unknown[]> {
  const sessions = await Promise.all(paths.map((path) => call("GET", path)));
  return sessions.flatMap(({ body }) => body["queued"] ?? []);
}

async function expectDone(call: Caller, paths: readonly string[]): Promise<void> {
  for (const path of paths) expect(await settled(call, path)).toMatchObject({ status: "completed" });
}

test.each([
  ["key", { keys: { ci: { concurrentRuns: 2 } } }, 'The key "ci" may have 2 runs at the same time, and 2 are running.'],
  [
    "tenant",
    { tenants: { "*": { concurrentRuns: 2 } } },
    'The tenant "default" may have 2 runs at the same time, and 2 are running.',
  ],
  [
    "agent",
    { agents: { Holder: { concurrentRuns: 2 } } },
    'The agent "Holder" may have 2 runs at the same time, and 2 are running.',
  ],
] as const)(
  "runs over the cap of a %s wait in line, are shown with their position, and all of them run",
  async (_, policy, reason) => {
    const { tool, seen, open } = gatedTool();
    const server = await testServer({ config: { tools: [tool], policy } });
    const call = await keyed(server, "ci");
    const paths = await begun(call, 5);
    await expect.poll(() => seen.running, SOON).toBe(2);
    await expect.poll(() => queued(call, paths), SOON).toHaveLength(3);
    const standing = (await queued(call, paths)) as { place: number; reason: string }[];
    expect(standing.map(({ place }) => place).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(new Set(standing.map((each) => each.reason))).toEqual(new Set([reason]));
    const { body: metrics } = await server.call("GET", "/metrics");
    expect(metrics as unknown as string).toMatch(/skein_cap_runs_waiting\{cap="[^"]+"\} 3/);
    open();
    await expectDone(call, paths);
    expect(seen.most).toBe(2);
  },
);

test("the cap of one key does not delay runs of another key", async () => {
  const { tool, seen, open } = gatedTool();
  const server = await testServer({ config: { tools: [tool], policy: { keys: { ci: { concurrentRuns: 1 } } } } });
  const ci = await keyed(server, "ci");
  const other = await keyed(server, "other");
  const waiting = await begun(ci, 3);
  const free = await begun(other, 3);
  await expect.poll(() => seen.running, SOON).toBe(4);
  open();
  await expectDone(ci, [...waiting, ...free]);
});

test("two servers on one store count runs together", async () => {
  const { tool, seen, open } = gatedTool();
  const config: SkeinConfig = { tools: [tool], policy: { tenants: { default: { concurrentRuns: 3 } } } };
  const store = `sqlite:${folder()}/skein.db`;
  const one = await testServer({ store, config });
  const two = await testServer({ store, config });
  const second = caller(two.url, one.key);
  const paths = [...(await begun(one.call, 4)), ...(await begun(second, 4, "Second"))];
  await expect.poll(() => seen.running, SOON).toBe(3);
  await expect.poll(() => queued(second, paths), SOON).toHaveLength(5);
  open();
  await expectDone(one.call, paths);
  expect(seen.most).toBe(3);
});

test("a lowered cap ends no run and applies to new runs, and runs of a revoked key continue", async () => {
  const { tool, seen, open, shut } = gatedTool();
  const store = `sqlite:${folder()}/skein.db`;
  const config = (concurrentRuns: number): SkeinConfig => ({
    tools: [tool],
    policy: { keys: { ci: { concurrentRuns } } },
  });
  const first = await testServer({ store, config: config(3) });
  const ci = await keyed(first, "ci");
  const paths = await begun(ci, 5);
  await expect.poll(() => seen.running, SOON).toBe(3);
  const { body } = await first.call("GET", "/v1/keys");
  const id = body.data.find(({ name }) => name === "ci")?.["id"];
  expect((await first.call("DELETE", `/v1/keys/${String(id)}`)).status).toBe(204);
  await first.close();
  open();
  await expect.poll(() => seen.running, SOON).toBe(0);
  seen.most = 0;
  shut();
  const second = await testServer({ store, config: config(1) });
  const admin = caller(second.url, first.key);
  // The three runs that had begun continue, and no new run begins.
  await expect.poll(() => seen.running, SOON).toBe(3);
  open();
  await expectDone(admin, paths);
  expect(seen.most).toBe(3);
});

test("a run that waits for its turn can be cancelled, its session can be deleted, and the runs after it move up", async () => {
  const { tool, seen, open } = gatedTool();
  const { call } = await testServer({
    config: { tools: [tool], policy: { tenants: { default: { concurrentRuns: 1 } } } },
  });
  const paths = await begun(call, 4);
  await expect.poll(() => queued(call, paths), SOON).toHaveLength(3);
  const waiting: string[] = [];
  for (const path of paths) if ((await call("GET", path)).body["queued"]) waiting.push(path);
  const [cancelled = "", deleted = "", last = ""] = waiting;
  expect((await call("POST", `${cancelled}/cancel`, {})).status).toBeLessThan(300);
  expect((await call("DELETE", deleted)).status).toBe(204);
  open();
  await expectDone(call, [last, ...paths.filter((path) => !waiting.includes(path))]);
  expect((await call("GET", cancelled)).body).not.toHaveProperty("queued");
  expect(seen.most).toBe(1);
});

test("a run that waits for an answer of a person does not count against its cap", async () => {
  const { call } = await testServer({ config: { policy: { tenants: { default: { concurrentRuns: 1 } } } } });
  const question = { name: "ask_user", description: "Asks.", input_schema: { type: "object" } };
  const asks = await session(call, { name: "Asker", frontend_tools: [question] });
  await say(call, asks.path, scripted("Ask.", [{ tools: [{ name: "ask_user" }] }, { text: "Thanks." }]));
  await settled(call, asks.path, "activity", ["awaiting"]).catch(() => undefined);
  const other = await session(call, { name: "Other" });
  await say(call, other.path, "Hi.");
  await expectDone(call, [other.path]);
});

test("if two keys send prompts to one session, the cap of the second key delays only the second prompt", async () => {
  const { tool, seen, open } = gatedTool();
  const server = await testServer({ config: { tools: [tool], policy: { keys: { ci: { concurrentRuns: 1 } } } } });
  const ci = await keyed(server, "ci");
  const other = await keyed(server, "other");
  const [held = ""] = await begun(ci, 1);
  await expect.poll(() => seen.running, SOON).toBe(1);
  const { path } = await session(other, { name: "Both" });
  await say(other, path, scripted("First.", [{ text: "One.", delayMs: 300 }]));
  await say(ci, path, "Second.");
  await expect
    .poll(async () => (await other("GET", path)).body["queued"], SOON)
    .toMatchObject({ reason: 'The key "ci" may have 1 run at the same time, and 1 is running.' });
  expect((await other("GET", path)).body["total_runs"]).toBe(1);
  open();
  await expectDone(ci, [held, path]);
});
