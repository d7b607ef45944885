import { createMemoryLive, createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { createServer } from "@skein/server";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { createDatabase } from "../../../scripts/postgres.ts";
import { scripted, session, settled, testServer } from "./world.ts";

const DAYS_AGO = "now() - interval '40 days'";

test("a server deletes and logs sessions that are older than their tenant's retention, and keeps sessions that wait", async () => {
  const { template, url: serverUrl } = inject("postgres");
  const { url, drop } = await createDatabase(serverUrl, { template });
  const ask = { name: "ask", description: "Asks.", input_schema: { type: "object" } };
  const first = await testServer({ store: url });
  const { call } = first;
  const old = await session(call, {});
  await call("POST", `${old.path}/messages`, { role: "user", content: { text: "Hello." } });
  await settled(call, old.path);
  const recent = await session(call, {});
  const waiting = await session(call, { frontend_tools: [ask] });
  const text = scripted("Ask.", [{ tools: [{ name: "ask", id: "call_1" }] }]);
  await call("POST", `${waiting.path}/messages`, { role: "user", content: { text } });
  await expect.poll(async () => (await call("GET", waiting.path)).body["activity"]).toBe("awaiting");
  await first.close();

  const client = new pg.Client(url);
  await client.connect();
  for (const { id } of [old, waiting]) {
    await client.query(`update skein.heads set updated_at = ${DAYS_AGO} where session_id = $1`, [id]);
    await client.query(`update skein.sessions set created_at = ${DAYS_AGO} where id = $1`, [id]);
  }
  const second = await testServer({ store: url, config: { retention: { "*": 30, other: 1 } } });
  const passes = () => second.logged.filter(({ event }) => event === "retention.pass");
  await expect.poll(() => passes().length).toBe(2);
  expect(passes()).toContainEqual({
    level: "info",
    event: "retention.pass",
    tenant: "default",
    kept_days: 30,
    removed: 1,
  });
  expect(second.logged.filter(({ event }) => event === "session.removed")).toEqual([
    expect.objectContaining({ reason: "retention", tenant: "default", session_id: old.id }),
  ]);
  const left = await client.query("select count(*)::integer as left from skein.events where session_id = $1", [old.id]);
  expect(left.rows).toEqual([{ left: 0 }]);
  for (const { path } of [recent, waiting]) expect((await second.call("GET", path)).status).toBe(200);
  await second.close();
  await client.end();
  await drop();
});

test("of several servers with one store, only one deletes sessions in an hour", async () => {
  const HOUR = 3600 * 1000;
  const store = createMemoryStore();
  const ids = createIds();
  const inTwoDays = Date.now() + 48 * HOUR;
  const passes: object[] = [];
  const start = async (name: string, at: number): Promise<void> => {
    const server = await createServer({
      store,
      live: createMemoryLive(),
      defaultModel: "none",
      description: { version: "0", store: "memory", model: "none" },
      retention: { default: 1 },
      now: () => at,
      log: ({ event, removed }) => event === "retention.pass" && passes.push({ name, removed }),
    });
    onTestFinished(() => server.close());
  };
  await createScript({ store, ids }).create();
  await start("first", inTwoDays);
  await expect.poll(() => passes).toEqual([{ name: "first", removed: 1 }]);
  await createScript({ store, ids }).create();
  await start("second", inTwoDays + HOUR / 2);
  await start("third", inTwoDays + HOUR);
  // If the second server had not left the session to the third, the second would have logged a pass before the third.
  await expect.poll(() => passes.at(-1)).toMatchObject({ name: "third" });
  expect(passes).toEqual([
    { name: "first", removed: 1 },
    { name: "third", removed: 1 },
  ]);
});
