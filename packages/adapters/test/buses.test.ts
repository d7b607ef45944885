import { randomUUID } from "node:crypto";
import { type Bus, createBusLive, createMemoryStore, publishSessionStatus } from "@skein/core";
import { createScript, describeBus } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Redis, noRedis, startRedis } from "../../../scripts/redis.ts";
import { createMemoryHub } from "../src/buses/memory.ts";
import { createRedisBus } from "../src/buses/redis.ts";

const SOON = { interval: 10 };

const hub = createMemoryHub();
describeBus("memory", async () => hub.connect());

describe.skipIf(noRedis)("on a real Redis server", { timeout: 60_000 }, () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  function machine(report: (error: unknown) => void = () => {}): Bus {
    const bus = createRedisBus({ url: redis.url, report });
    onTestFinished(() => bus.close());
    return bus;
  }

  async function ready(bus: Bus): Promise<Bus> {
    await expect.poll(() => bus.check().then(() => true), SOON).toBe(true);
    return bus;
  }

  /** Publishes until the message is received, because messages are lost while Redis is unavailable. */
  async function carries(a: Bus, b: Bus): Promise<void> {
    const channel = randomUUID();
    const heard: unknown[] = [];
    const leave = b.listen(channel, (words) => heard.push(words));
    await expect.poll(() => (a.say(channel, 1), heard.length), SOON).toBeGreaterThan(0);
    leave();
  }

  describeBus("redis", async () => createRedisBus({ url: redis.url }));

  describe("Redis keys of the Claude API", () => {
    const id = randomUUID();
    beforeEach(() => void redis.ask("FLUSHALL"));

    test("session:{id} has five fields and expires after an hour", async () => {
      const bus = await ready(machine());
      const session = {
        id,
        status: "active" as const,
        model: "claude-sonnet-4-5",
        created_at: "2026-01-07T12:00:00Z",
        last_activity: "2026-01-07T12:05:00Z",
      };
      bus.show({ kind: "session", session });
      await expect.poll(() => redis.ask("GET", `session:${id}`), SOON).toBe(JSON.stringify(session));
      const left = Number(redis.ask("TTL", `session:${id}`));
      expect(left).toBeGreaterThan(3500);
      expect(left).toBeLessThanOrEqual(3600);
    });

    test("active_connections is the set of sessions that somebody follows", async () => {
      const bus = await ready(machine());
      const live = createBusLive({ bus });
      const leaves = [live.subscribe(id, () => {}), live.subscribe(id, () => {})];
      await expect.poll(() => redis.ask("SMEMBERS", "active_connections"), SOON).toBe(id);
      expect(redis.ask("TYPE", "active_connections")).toBe("set");
      leaves[0]?.();
      leaves[0]?.();
      expect(redis.ask("SMEMBERS", "active_connections")).toBe(id);
      leaves[1]?.();
      await expect.poll(() => redis.ask("SMEMBERS", "active_connections"), SOON).toBe("");
      live.close();
    });

    test("session_lock:{id} names the machine that runs the session, for five minutes or until the run is over", async () => {
      const bus = await ready(machine());
      const ids = createIds();
      const store = createMemoryStore();
      const stop = publishSessionStatus({ store, bus, now: Date.now });
      const script = createScript({ store, ids });
      await script.create();
      const { runId, messageId } = await script.prompt("hi");
      expect(redis.ask("EXISTS", `session_lock:${script.sessionId}`)).toBe("0");
      const lease = await script.claim();
      const started = { run_id: runId, message_id: messageId, user_message: "hi", formatter: "json" };
      await script.append([{ event_type: "session.started", data: started }], { lease });
      const key = `session_lock:${script.sessionId}`;
      await expect.poll(() => redis.ask("GET", key), SOON).toBe(bus.instance);
      expect(Number(redis.ask("TTL", key))).toBeGreaterThan(250);
      expect(Number(redis.ask("TTL", key))).toBeLessThanOrEqual(300);
      await expect
        .poll(() => JSON.parse(redis.ask("GET", `session:${script.sessionId}`) || "null"), SOON)
        .toMatchObject({ id: script.sessionId, status: "active", model: "claude-sonnet-4-5" });
      const usage = {
        input_tokens: 0,
        output_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      };
      const totals = { usage, cost_micros: 0, unpriced_calls: 0, files_generated: 0, duration_ms: 0 };
      const ended = { run_id: runId, step: 0, stop_reason: "end_turn" as const, final_response: "", ...totals };
      await script.append([{ event_type: "session.completed", data: ended }], { lease });
      await expect.poll(() => redis.ask("EXISTS", key), SOON).toBe("0");
      await expect
        .poll(() => JSON.parse(redis.ask("GET", `session:${script.sessionId}`)), SOON)
        .toMatchObject({ status: "completed" });
      stop();
    });

    test("session_lock:{id} is removed if the session has no run, and session:{id} is removed when the session is deleted", async () => {
      const bus = await ready(machine());
      const store = createMemoryStore();
      const stop = publishSessionStatus({ store, bus, now: Date.now });
      const script = createScript({ store, ids: createIds() });
      await script.create();
      const [lock, shown] = [`session_lock:${script.sessionId}`, `session:${script.sessionId}`];
      const lease = await script.claim();
      await script.append([{ event_type: "title.generated", data: { title: "Driven" } }], { lease });
      // The session has no run, so its status is idle and its lock is removed.
      await expect.poll(() => [redis.ask("EXISTS", lock), redis.ask("EXISTS", shown)], SOON).toEqual(["0", "1"]);
      await store.delete(script.sessionId);
      bus.show({ kind: "deleted", sessionId: script.sessionId });
      await expect.poll(() => redis.ask("EXISTS", shown), SOON).toBe("0");
      stop();
    });

    test("a machine that unlocks a session does not remove the lock that another machine has set", async () => {
      const bus = await ready(machine());
      bus.show({ kind: "locked", sessionId: id });
      await expect.poll(() => redis.ask("GET", `session_lock:${id}`), SOON).toBe(bus.instance);
      redis.ask("SET", `session_lock:${id}`, "another");
      bus.show({ kind: "unlocked", sessionId: id });
      await bus.check();
      expect(redis.ask("GET", `session_lock:${id}`)).toBe("another");
    });

    test("the bus works even if some of its Redis keys have values of other types", async () => {
      const [a, b] = [await ready(machine()), await ready(machine())];
      redis.ask("SET", "active_connections", "no set");
      redis.ask("SADD", `session_lock:${id}`, "no string");
      redis.ask("LPUSH", `session:${id}`, "no string");
      const session = { id, status: "active" as const, model: "m", created_at: "c", last_activity: "l" };
      for (const kind of ["connected", "unlocked", "locked", "disconnected"] as const) a.show({ kind, sessionId: id });
      a.show({ kind: "session", session });
      await expect.poll(() => redis.ask("GET", `session:${id}`), SOON).toBe(JSON.stringify(session));
      await carries(a, b);
    });
  });

  describe("when Redis goes away", () => {
    test("after a restart of Redis, subscriptions work again, and the loss and the return of Redis are reported once", async () => {
      const reports: string[] = [];
      const [a, b] = [await ready(machine((error) => reports.push(String(error)))), await ready(machine())];
      const heard: unknown[] = [];
      b.listen("kept", (words) => heard.push(words));
      await expect.poll(() => (a.say("kept", "before"), heard), SOON).toContain("before");
      await redis.kill();
      await expect
        .poll(() => a.check().catch((error: unknown) => String(error)), SOON)
        .toContain("continue without it");
      a.say("kept", "lost");
      a.show({ kind: "connected", sessionId: "s" });
      await redis.start();
      await expect.poll(() => (a.say("kept", "after"), heard), SOON).toContain("after");
      expect(heard).not.toContain("lost");
      await expect.poll(() => redis.ask("SMEMBERS", "active_connections"), SOON).toBe("s");
      await expect
        .poll(() => reports, SOON)
        .toEqual([expect.stringContaining("cannot be reached"), expect.stringContaining("can be reached again")]);
    });

    test("while Redis hangs, no caller waits and the queue is limited, and afterwards the pieces of an answer are complete", async () => {
      const [a, b] = [await ready(machine()), await ready(machine())];
      await carries(a, b);
      const lives = [createBusLive({ bus: a }), createBusLive({ bus: b })] as const;
      const seen: number[] = [];
      const sessionId = randomUUID();
      const joined: string[] = [];
      lives[1].subscribe(sessionId, ({ offset, message_id }) =>
        message_id === "m" ? seen.push(offset) : joined.push(message_id),
      );
      const piece = (offset: number, message_id: string) => ({
        session_id: sessionId,
        run_id: "r",
        step: 1,
        attempt: 1,
        message_id,
        offset,
        event: { type: "content_block_delta", delta: { type: "text_delta", text: "x" } },
      });
      await expect.poll(() => (lives[0].publish(piece(0, randomUUID())), joined.length), SOON).toBeGreaterThan(0);
      const flood: unknown[] = [];
      b.listen("flood", (words) => flood.push(words));
      await expect.poll(() => (a.say("flood", "begin"), flood.length), SOON).toBeGreaterThan(0);
      redis.freeze();
      try {
        const started = performance.now();
        const large = "x".repeat(10_000);
        for (let n = 0; n < 20_000; n++) a.say("flood", large);
        for (let n = 0; n < 100; n++) lives[0].publish(piece(n, "m"));
        await expect(a.check()).rejects.toMatchObject({ code: "store_unavailable" });
        // Only the check waited for Redis, for one second.
        expect(performance.now() - started).toBeLessThan(10_000);
      } finally {
        redis.wake();
      }
      for (let n = 100; n < 110; n++) lives[0].publish(piece(n, "m"));
      await expect
        .poll(() => {
          if (seen.length < 110) lives[0].publish(piece(seen.length + 1000, "m"));
          return seen.slice(0, 110);
        }, SOON)
        .toEqual(Array.from({ length: 110 }, (_, n) => n));
      expect(flood.length).toBeLessThan(2000);
      for (const live of lives) live.close();
    });

    test("messages arrive even after Redis is emptied", async () => {
      const [a, b] = [await ready(machine()), await ready(machine())];
      redis.ask("FLUSHALL");
      await carries(a, b);
    });

    test("a Redis that cannot be reached delays no caller", async () => {
      const bus = createRedisBus({ url: "redis://127.0.0.1:1" });
      bus.say("c", 1);
      bus.listen("c", () => {})();
      bus.show({ kind: "locked", sessionId: "s" });
      await expect(bus.check()).rejects.toMatchObject({ code: "store_unavailable" });
      await bus.close();
    });
  });
});
