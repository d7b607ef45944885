import { expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../../../scripts/postgres.ts";
import { say, scripted, session, settled, testServer } from "./world.ts";

test("while PostgreSQL is unavailable requests get 503, and the run continues when PostgreSQL is back", async () => {
  const postgres = await startPostgres({ prefix: "skein-pg-away-" });
  onTestFinished(() => postgres.stop());
  const { call, url } = await testServer({ store: postgres.url });
  const { path } = await session(call);
  const slow = scripted("Take your time", [{ text: "word ".repeat(40), chunk: 5, chunkDelayMs: 50 }]);
  expect((await say(call, path, slow)).status).toBe(202);
  await settled(call, path, "status", ["running"]);

  await postgres.crash();
  const refused = await say(call, path, "Are you there?");
  expect(refused).toMatchObject({ status: 503, body: { error: { code: "store_unavailable" } } });
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(refused.body.error.message).not.toMatch(/127\.0\.0\.1|ECONN/);
  expect(await call("GET", "/health")).toMatchObject({
    status: 503,
    body: { status: "unhealthy", failing: ["store"] },
  });
  // `/health` needs no key, so an unknown key changes nothing.
  expect(await (await fetch(`${url}/health`, { headers: { "x-api-key": "unknown" } })).json()).toMatchObject({
    status: "unhealthy",
  });

  await postgres.start();
  expect(await settled(call, path)).toMatchObject({ status: "completed" });
  expect((await say(call, path, "And now?")).status).toBe(202);
  expect((await call("GET", "/health")).body).toMatchObject({ status: "ok" });
}, 60_000);

test("while PostgreSQL hangs every request is answered within 6 s, and the run continues when PostgreSQL is back", async () => {
  const postgres = await startPostgres({ prefix: "skein-pg-hung-" });
  onTestFinished(async () => {
    postgres.wake();
    await postgres.stop();
  });
  const { call, url } = await testServer({ store: postgres.url });
  const { path, agentId } = await session(call);
  const slow = scripted("Take your time", [{ text: "word ".repeat(40), chunk: 5, chunkDelayMs: 60 }]);
  expect((await say(call, path, slow)).status).toBe(202);
  await settled(call, path, "status", ["running"]);
  const timed = async (method: string, at: string, body?: unknown, headers?: Record<string, string>) => {
    const began = performance.now();
    const { status, body: said } = await call(method, at, body, headers);
    return { status, said, ms: performance.now() - began };
  };
  const everything = (round: number) => [
    timed("GET", path),
    timed("GET", "/v1/sessions"),
    timed("GET", `${path}/events?limit=5`),
    timed("GET", "/api/v1/sessions"),
    timed("GET", "/v1/usage?group_by=day"),
    timed("POST", `${path}/messages`, { role: "user", content: { text: "Hello?" } }),
    timed("POST", `/v1/agents/${agentId}/sessions`, {}, { "idempotency-key": `hung-${round}` }),
    timed("DELETE", "/v1/sessions/01a1de6b-ce85-73e6-957e-30f2af6e7b70"),
  ];

  postgres.freeze();
  // In the first round the server detects that the store hangs. In the second round it rejects requests immediately.
  for (const round of [1, 2]) {
    const asked = everything(round);
    const open = [timed("GET", "/health"), timed("GET", "/ready"), timed("GET", "/api/v1/health")];
    const [health, ready, claude] = await Promise.all(open);
    expect([health?.status, ready?.status, claude?.status]).toEqual([503, 503, 503]);
    expect(health?.said).toMatchObject({ status: "unhealthy", failing: ["store"] });
    expect(ready?.said.error).toMatchObject({ code: "store_unavailable", message: "The store does not answer." });
    expect(claude?.said).toMatchObject({ status: "unhealthy", dependencies: { store: { status: "error" } } });
    // Health checks give up after 1 s, other requests after 5 s. The limits below are longer because the machine may be
    // busy.
    for (const { ms } of await Promise.all(open)) expect(ms).toBeLessThan(4000);
    for (const { status, ms } of await Promise.all(asked)) {
      expect(status).toBe(503);
      expect(ms).toBeLessThan(round === 1 ? 6000 : 1500);
    }
  }

  postgres.wake();
  const back = performance.now();
  await expect.poll(async () => (await fetch(`${url}/ready`)).status, { interval: 20 }).toBe(200);
  expect((await say(call, path, "And now?")).status).toBe(202);
  expect(performance.now() - back).toBeLessThan(2000);
  expect(await settled(call, path)).toMatchObject({ status: "completed" });
}, 90_000);
