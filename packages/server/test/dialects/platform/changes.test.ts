/** The stream of changes of all sessions of a tenant. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { createKeys } from "@skein/server";
import { openStore } from "skein/stores";
import { describe, expect, test } from "vitest";
import { createTenantChanges } from "../../../src/streams/tenant-changes.ts";
import { type ChangeSink, streamTenant } from "../../../src/streams/tenant-stream.ts";
import { dataFolder, start } from "../../../../cli/test/skein.ts";
import { storeOf } from "../../any-store.ts";
import {
  type Frame,
  type TestServer,
  caller,
  folder,
  frames,
  say,
  scripted,
  session,
  settled,
  testServer,
} from "../../world.ts";

interface Change {
  readonly session: { readonly id: string; readonly status: string; readonly activity: string; readonly title: string };
  readonly last_sequence: number;
}

const changeOf = (frame: Frame | undefined): Change => frame?.data as unknown as Change;
const changes = (seen: readonly Frame[]): Change[] =>
  seen.filter(({ event }) => event === "session.changed").map(changeOf);

/** Reads the stream until a change matches, and returns the frames. Calls `onOpen` when the stream is open. */
async function until(
  { url, key }: Pick<TestServer, "url" | "key">,
  isLast: (change: Change) => boolean,
  { query = "", onOpen = () => {} }: { query?: string; onOpen?: () => unknown } = {},
): Promise<Frame[]> {
  let opened: unknown;
  const seen = await frames(`${url}/v1/events${query}`, {
    headers: { "x-api-key": key },
    isLast: (frame) => frame.event === "session.changed" && isLast(changeOf(frame)),
    onFrame: (frame) => {
      if (frame.event === "stream.opened") opened = onOpen();
    },
  });
  // The stream may report the end of the run before the request in `onOpen` returns, and the server must not close
  // before that.
  await opened;
  return seen;
}

const finishedRun = ({ session: { status } }: Change): boolean => status === "completed";

/** Creates a session and completes a run in it. */
async function run(server: TestServer, agent: Record<string, unknown> = {}) {
  const made = await session(server.call, agent);
  await say(server.call, made.path, scripted("Hi.", [{ text: "Hello." }]));
  await settled(server.call, made.path);
  return made;
}

test("a session that begins, runs and ends is announced with its row and its last sequence", async () => {
  const server = await testServer();
  let made: Promise<Awaited<ReturnType<typeof run>>> | undefined;
  const seen = await until(server, finishedRun, { onOpen: () => (made = run(server)) });
  const { id, path } = (await made) ?? { id: "", path: "" };
  expect(seen[0]).toMatchObject({ event: "stream.opened", id: expect.any(String) });
  const told = changes(seen);
  expect(told.every(({ session }) => session.id === id)).toBe(true);
  const last = told.at(-1);
  expect(last?.session).toEqual((await server.call("GET", path)).body);
  expect(last?.last_sequence).toBe((await server.call("GET", `${path}/events?limit=1000`)).body.data.length);
  const sequences = told.map(({ last_sequence }) => last_sequence);
  expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
  expect(new Set(sequences).size).toBe(sequences.length);
});

test("changes are filtered by agent, other tenants get none, and an invalid query is 422", async () => {
  const store = await storeOf("sqlite", folder());
  const server = await testServer({ store });
  const opened = await openStore(store);
  const key = await createKeys({ records: opened.records }).make({ name: "b", scopes: ["admin"], tenant: "other" });
  await opened.close();
  const first = await run(server);
  const second = await run(server, { name: "Second" });
  const start = Buffer.from(`c1 ${Date.now() - 3_600_000}`).toString("base64url");
  const seen = await until(server, finishedRun, { query: `?after=${start}&agent_id=${second.agentId}` });
  expect(changes(seen).map(({ session }) => session.id)).toEqual([second.id]);
  const other = { ...server, key, call: caller(server.url, key) };
  const theirs = await until(other, () => true, { query: `?after=${start}`, onOpen: () => session(other.call) });
  expect(changes(theirs).map(({ session }) => session.id)).not.toContain(first.id);
  for (const query of ["agent_id=x", "limit=3", "after="])
    expect([query, (await server.call("GET", `/v1/events?${query}`)).status]).toEqual([query, 422]);
  expect((await caller(server.url, undefined)("GET", "/v1/events")).status).toBe(401);
});

test("an invalid cursor is answered with a reset, and the stream continues from now", async () => {
  const server = await testServer();
  for (const headers of [{ "last-event-id": "17" }, { "last-event-id": "%%%" }]) {
    const seen = await frames(`${server.url}/v1/events`, {
      headers: { "x-api-key": server.key, ...headers },
      isLast: ({ event }) => event === "stream.opened",
    });
    expect(seen.map(({ event }) => event)).toEqual(["stream.reset", "stream.opened"]);
  }
});

describe.each(["sqlite", "postgres", "file"])("on a %s store", (kind) => {
  test("a reader whose server goes away gets all missed changes from the next server", async () => {
    const store = await storeOf(kind, folder());
    const data = folder();
    const first = await testServer({ store, data });
    const before = await run(first);
    const seen = await until(first, () => true, { onOpen: () => say(first.call, before.path, "More.") });
    const cursor = seen.at(-1)?.id ?? "";
    await settled(first.call, before.path);
    const missed = [await run(first), await run(first), await run(first)].map(({ id }) => id);
    await first.close();
    const second = await testServer({ store, data });
    const wanted = new Set(missed);
    const after = await until(
      second,
      ({ session }) => {
        if (session.status === "completed") wanted.delete(session.id);
        return wanted.size === 0;
      },
      { query: `?after=${cursor}` },
    );
    expect(new Set(changes(after).map(({ session }) => session.id))).toEqual(new Set([before.id, ...missed]));
    const cursors = after
      .map(({ id }) => id ?? "")
      .map((id) => Number(Buffer.from(id, "base64url").toString().slice(3)));
    expect(cursors).toEqual([...cursors].sort((a, b) => a - b));
  });
});

test.each(["sqlite", "postgres"])(
  "changes that another server makes on the same %s store are announced",
  async (kind) => {
    const store = await storeOf(kind, folder());
    const data = folder();
    const here = await testServer({ store, data });
    const there = await testServer({ store, data });
    const seen = await until(here, finishedRun, { onOpen: () => run(there) });
    expect(changes(seen).at(-1)?.session.status).toBe("completed");
  },
);

test("after kill -9 of the server in the middle of a run, the next server announces how the run ended", async () => {
  const home = dataFolder();
  const serve = async () => {
    const process = start(home, ["serve", "--port", "0"]);
    const said = await process.says(/Skein listens on \S+[^]*Stop it/);
    const url = /Skein listens on (\S+)/.exec(said)?.[1] ?? "";
    const key = readFileSync(join(home, "data", "admin-key"), "utf8").trim();
    return { url, key, call: caller(url, key), process };
  };
  const first = await serve();
  const { id, path } = await session(first.call);
  const seen = await until(first, ({ session: { activity } }) => activity === "running", {
    // The answer is delayed, because a run that ends immediately may be over before the stream reports that it runs.
    onOpen: () => say(first.call, path, scripted("Slowly.", [{ text: "word ".repeat(400), delayMs: 2000 }])),
  });
  first.process.child.kill("SIGKILL");
  await first.process.ended;
  const second = await serve();
  const after = await until(second, (change) => change.session.id === id && finishedRun(change), {
    query: `?after=${seen.at(-1)?.id}`,
  });
  expect(changes(after).at(-1)?.session).toEqual((await second.call("GET", path)).body);
}, 60_000);

test("changes that no server announced are found by a sweep", async () => {
  const store = createMemoryStore();
  const silent = { ...store, onNews: () => () => {} };
  const hub = createTenantChanges({
    store: silent,
    now: Date.now,
    report: (error) => {
      throw error;
    },
    sweepMs: 20,
  });
  const told: string[] = [];
  const subscription = hub.subscribe("default", (news) => void told.push(...news.map(({ session }) => session.id)));
  const script = createScript({ store, ids: createIds() });
  await script.create();
  await expect.poll(() => told).toContain(script.sessionId);
  subscription.end();
});

test("a slow reader gets every session in the end, even if more sessions change than are kept for the reader", async () => {
  const store = createMemoryStore();
  const ids = createIds();
  const hub = createTenantChanges({ store, now: Date.now, report: () => {}, gatherMs: 5 });
  const stop = new AbortController();
  const seen = new Set<string>();
  let release = (): void => {};
  const blocked = new Promise<boolean>((resolve) => (release = () => resolve(true)));
  const sink: ChangeSink = {
    signal: stop.signal,
    opened: () => true,
    change: ({ session }) => (seen.add(session.id), blocked),
    reset: () => true,
  };
  const streaming = streamTenant({ store, changes: hub, tenant: "default", after: undefined, now: Date.now }, sink);
  const made: string[] = [];
  for (let at = 0; at < 2500; at += 1) {
    const script = createScript({ store, ids });
    await script.create();
    made.push(script.sessionId);
  }
  await expect.poll(() => seen.size).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  release();
  await expect.poll(() => seen.size).toBe(made.length);
  stop.abort();
  await streaming;
});
