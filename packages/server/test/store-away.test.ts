import { expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../../../scripts/postgres.ts";
import { say, scripted, session, settled, testServer } from "./world.ts";

test("while PostgreSQL is away requests are told to come back, and the run goes on when it is there again", async () => {
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
  expect((await call("GET", "/health")).body).toMatchObject({ status: "degraded" });
  // A key that nobody can look up, too: it is for everybody.
  expect(await (await fetch(`${url}/health`, { headers: { "x-api-key": "unknown" } })).json()).toMatchObject({
    status: "degraded",
  });

  await postgres.start();
  expect(await settled(call, path)).toMatchObject({ status: "completed" });
  expect((await say(call, path, "And now?")).status).toBe(202);
  expect((await call("GET", "/health")).body).toMatchObject({ status: "ok" });
}, 60_000);
