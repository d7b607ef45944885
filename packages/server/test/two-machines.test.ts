/**
 * Two servers that share one PostgreSQL and one Redis, also while Redis fails. A draft is a piece of an answer that the
 * model is still writing.
 */
import { createPostgresFileStore } from "@skein/adapters/files/postgres";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { type Database, createDatabase } from "../../../scripts/postgres.ts";
import { type Redis, noRedis, startRedis } from "../../../scripts/redis.ts";
import { type Step, createSimulator, script } from "@skein/simulator";
import { codeOf } from "../../skein/src/serve/config-file.ts";
import { startServer } from "../../skein/src/serve/server.ts";
import { claudeServer } from "./dialects/claude/server.ts";
import { all, only, open } from "./dialects/claude/world.ts";
import { type Caller, type Frame, caller, folder, frames, say, session, settled } from "./world.ts";

const postgres = inject("postgres");
const SOON = { interval: 20 };

type Asked = Parameters<typeof open>[0];

interface Machine {
  readonly url: string;
  readonly key: string;
  readonly call: Caller;
  readonly logged: Record<string, unknown>[];
}

describe.skipIf(noRedis)("two servers with Redis between them", { timeout: 120_000 }, () => {
  let redis: Redis;
  let database: Database;
  let model: Awaited<ReturnType<typeof createSimulator>>;
  beforeAll(async () => {
    redis = await startRedis();
    model = await createSimulator();
  });
  afterAll(async () => {
    await model.close();
    await redis.stop();
  });
  beforeEach(async () => {
    database = await createDatabase(postgres.url, { template: postgres.template });
    onTestFinished(() => database.drop());
  });

  const KEY = "an-admin-key-of-our-own";

  async function machine(): Promise<Machine> {
    const logged: Record<string, unknown>[] = [];
    const server = await startServer({
      port: 0,
      host: "127.0.0.1",
      storeUrl: database.url,
      dataDir: folder(),
      redisUrl: redis.url,
      apiKey: KEY,
      allowedHosts: [],
      allowedOrigins: [],
      allowedWebhookAddresses: [],
      anthropicApiKey: "sk-ant-simulated",
      anthropicBaseUrl: model.url,
      claudeCode: false,
      code: codeOf({}),
      limits: { requestBurst: 100_000, requestsPerSecond: 100_000 },
      log: (line) => logged.push({ ...line }),
    });
    onTestFinished(() => server.close());
    const call = caller(server.url, KEY);
    await expect.poll(async () => (await call("GET", "/health")).body["status"], SOON).toBe("ok");
    return { url: server.url, key: KEY, call, logged };
  }

  const playing = (...steps: Step[]): string => `Please. ${script(steps, "machines")}`;
  const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(" ");

  /** Reads the frames of a session on one machine until the run ends. */
  function follows(at: Machine, path: string): { seen: Frame[]; done: Promise<readonly Frame[]> } {
    const seen: Frame[] = [];
    const done = frames(`${at.url}${path}/events`, {
      headers: { "x-api-key": at.key },
      isLast: ({ event }) => event === "session.completed" || event === "session.failed",
      onFrame: (frame) => seen.push(frame),
    });
    return { seen, done };
  }

  const drafts = (seen: readonly Frame[]): string =>
    seen
      .filter(({ event }) => event === "step.generating")
      .map(({ data }) => String(data.data["delta"]))
      .join("");
  const facts = (seen: readonly Frame[]): readonly string[] =>
    seen.filter(({ id }) => id !== undefined).map(({ id, event }) => `${id} ${event}`);

  test("a file of a run on one server is read on both, and is deleted with its session", async () => {
    const [a, b] = [await machine(), await machine()];
    const { path } = await session(a.call, {
      server_tools: [{ type: "code_execution_20250825", name: "code_execution" }],
    });
    const files = [{ name: "chart.csv", content: "1,2,3" }];
    await say(a.call, path, playing({ code: { command: "make", files }, text: "Made." }));
    await settled(a.call, path);
    const [file] = (await a.call("GET", `${path}/files`)).body.data;
    for (const { call } of [a, b])
      expect((await call("GET", `${path}/files/${String(file?.["file_id"])}/content`)).body).toBe("1,2,3");
    const stored = (await a.call("GET", `${path}/events`)).body.data.find(
      ({ event_type }) => event_type === "file.stored",
    ) as { data: { storage_path: string } };
    await a.call("DELETE", path);
    const kept = createPostgresFileStore({ url: database.url });
    onTestFinished(() => kept.close());
    await expect(kept.get(stored.data.storage_path)).rejects.toMatchObject({ code: "not_found" });
  });

  test("a reader on one server sees the drafts and events of a run on the other", async () => {
    const machines = [await machine(), await machine()];
    const [first] = machines as [Machine, Machine];
    const { path, id } = await session(first.call);
    const readers = machines.map((at) => follows(at, path));
    await expect.poll(() => redis.ask("PUBSUB", "NUMSUB", `skein:live:${id}`).split("\n").at(-1), SOON).toBe("2");
    const text = words(60);
    await say(first.call, path, playing({ text, chunk: 10, chunkDelayMs: 40 }));
    const [one = [], other = []] = await Promise.all(readers.map(({ done }) => done));
    // One of the two machines ran the session. The other machine got the session's events only through the store and
    // Redis.
    expect(facts(one)).toEqual(facts(other));
    for (const seen of [one, other]) {
      expect(drafts(seen)).not.toBe("");
      expect(text.startsWith(drafts(seen))).toBe(true);
    }
  });

  test("a session of Claude Code continues on a second server, and a reader on the first server sees its drafts", async () => {
    const shared = { storeUrl: database.url, redisUrl: redis.url, apiKey: KEY, anthropicBaseUrl: model.url };
    const machines = [await claudeServer(shared), await claudeServer(shared)];
    const [a, b] = machines.map(({ url }) => ({ url, key: KEY })) as [Asked, Asked];
    onTestFinished(async () => {
      await Promise.all(machines.map((server) => server.close()));
    });
    const first = await all(a, "/api/v1/query", { prompt: playing({ text: "Hi." }), include_partial_messages: true });
    const { session_id } = only(first, "init").data;
    const text = words(60);
    const asked = await open(b, `/api/v1/sessions/${session_id}/resume`, {
      prompt: playing({ text, chunk: 10, chunkDelayMs: 120 }),
    });
    await asked.until(({ event }) => event === "init");
    await expect.poll(() => redis.ask("SISMEMBER", "active_connections", session_id), SOON).toBe("1");
    const followed = await open(a, `/api/v1/sessions/${session_id}/stream`);
    for (const seen of await Promise.all([asked.end(), followed.end()])) {
      const partial = seen.flatMap(({ event, data }) => {
        const delta = event === "partial" ? (data["delta"] as { text?: string } | undefined) : undefined;
        return delta?.text === undefined ? [] : [delta.text];
      });
      expect(partial).not.toEqual([]);
      expect(text.startsWith(partial.join(""))).toBe(true);
      expect(only(seen, "result").data).toMatchObject({ is_error: false, result: text });
    }
  });

  test("the Claude API's keys in Redis describe the session", async () => {
    const [a, b] = [await machine(), await machine()];
    const { path, id } = await session(a.call);
    const reader = follows(b, path);
    await expect.poll(() => redis.ask("SISMEMBER", "active_connections", id), SOON).toBe("1");
    // The set `active_connections` expires, because a killed machine cannot remove its entries.
    await expect.poll(() => Number(redis.ask("TTL", "active_connections")), SOON).toBeGreaterThan(200);
    await say(a.call, path, playing({ text: words(20), chunk: 10, chunkDelayMs: 50 }));
    await expect.poll(() => redis.ask("GET", `session_lock:${id}`), SOON).toMatch(/^[0-9a-f-]{36}$/);
    await reader.done;
    await expect
      .poll(() => JSON.parse(redis.ask("GET", `session:${id}`) || "null"), SOON)
      .toMatchObject({ id, status: "completed" });
    expect(Object.keys(JSON.parse(redis.ask("GET", `session:${id}`)))).toEqual([
      "id",
      "status",
      "model",
      "created_at",
      "last_activity",
    ]);
    await expect.poll(() => redis.ask("EXISTS", `session_lock:${id}`), SOON).toBe("0");
    await expect.poll(() => redis.ask("SISMEMBER", "active_connections", id), SOON).toBe("0");
  });

  let hung: Promise<void> = Promise.resolve();
  async function hang(): Promise<void> {
    redis.freeze();
    hung = sleep(10_000).then(() => redis.wake());
  }

  test.each([
    ["is killed", () => redis.kill(), () => redis.start()],
    ["hangs for ten seconds", hang, () => hung],
    ["forgets everything", async () => void redis.ask("FLUSHALL"), async () => {}],
    [
      "has other values under Skein's keys",
      async () => {
        redis.ask("FLUSHALL");
        redis.ask("SET", "active_connections", "x");
      },
      async () => void redis.ask("FLUSHALL"),
    ],
  ])("when Redis %s during a run, the run completes, and prompts and cancels still work", async (_, lose, mend) => {
    const [a, b] = [await machine(), await machine()];
    const { path } = await session(a.call);
    const reader = follows(b, path);
    await expect.poll(() => reader.seen.length, SOON).toBeGreaterThan(0);
    const text = words(40);
    await say(a.call, path, playing({ text, chunk: 10, chunkDelayMs: 20 }));
    await expect.poll(() => reader.seen.some(({ event }) => event === "step.started"), SOON).toBe(true);
    await lose();
    try {
      const seen = await reader.done;
      expect(seen.at(-1)?.data.data).toMatchObject({ final_response: text });
      // While Redis fails, both machines accept a prompt, and a cancel on machine b ends a run that machine a was
      // asked to start.
      await say(b.call, path, playing({ text: "And again." }));
      await expect.poll(async () => (await a.call("GET", path)).body["total_runs"], SOON).toBe(2);
      await settled(a.call, path);
      const slow = await say(a.call, path, playing({ text: "Never.", hang: true }));
      await settled(b.call, path, "status", ["running"]);
      const cancelled = await b.call("POST", `${path}/cancel`, {});
      expect(cancelled.status).toBeLessThan(300);
      expect((await settled(a.call, path, "status", ["failed"]))["status"]).toBe("failed");
      expect(slow.status).toBe(202);
    } finally {
      await mend();
    }
    // When Redis is back, both servers are healthy again.
    await expect.poll(async () => (await a.call("GET", "/health")).body["status"], SOON).toBe("ok");
    await expect.poll(async () => (await b.call("GET", "/health")).body["status"], SOON).toBe("ok");
    const bugs = [...a.logged, ...b.logged]
      .filter(({ level }) => level === "error")
      .map(({ message }) => String(message));
    expect(bugs.filter((line) => !line.includes("Redis"))).toEqual([]);
  });
});
