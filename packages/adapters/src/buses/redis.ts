import type { Bus, Shown } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { createClient } from "@redis/client";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

export interface RedisBusDeps {
  /** `redis://…`, or `rediss://…` over TLS. */
  readonly url: string;
  /** Called once when Redis becomes unavailable, and once when it is available again. */
  readonly report?: (error: unknown) => void;
}

const PREFIX = "skein:";
const Envelope = z.object({ from: z.string(), words: z.unknown() });

/**
 * How many commands may wait for a reply of Redis. Further commands are dropped: a Redis that hangs must not fill the
 * memory.
 */
const MOST_WAITING = 500;
const CHECK_MS = 1000;
const CLOSE_MS = 500;
const CONNECTIONS = "active_connections";
/** Expiry times, in seconds, of the Redis keys that the Claude API specifies. */
const SESSION_SECONDS = "3600";
const LOCK_SECONDS = "300";
/** How often the set of connected sessions and the locks are written again, in case Redis has lost them. */
const AGAIN_MS = 30_000;
/** Removes a lock only if this machine set it. */
const UNLOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/**
 * Creates the bus over a Redis server: PUBLISH and SUBSCRIBE for messages between machines, and the keys of the Claude
 * API for people who inspect Redis.
 *
 * If Redis is unavailable for some time, only the messages of this time are lost. Reasons:
 * decision 072 in docs/decisions.
 */
export function createRedisBus({ url, report = () => {} }: RedisBusDeps): Bus {
  const instance = randomUUID();
  /** The broken connections. Redis counts as unavailable until all connections work again. */
  const down = new Set<unknown>();
  const talker = connect({ disableOfflineQueue: true });
  // The client renews its subscriptions on each new connection.
  const hearer = connect({});
  const connected = new Set<string>();
  const locked = new Set<string>();
  let closed = false;

  function connect(more: { disableOfflineQueue?: boolean }) {
    const client = createClient({
      url,
      name: "skein",
      pingInterval: 10_000,
      commandsQueueMaxLength: MOST_WAITING,
      socket: {
        connectTimeout: 2000,
        socketTimeout: 30_000,
        reconnectStrategy: (retries) => Math.min(50 * 2 ** Math.min(retries, 6), 2000),
      },
      ...more,
    });
    client.on("error", (error: Error) => {
      if (down.size === 0 && !closed) report(new Error(`Redis cannot be reached: ${error.message}`));
      down.add(client);
    });
    client.on("ready", () => {
      if (down.delete(client) && down.size === 0) report(new Error("Redis can be reached again."));
    });
    return client;
  }

  /** Sends a command without waiting for the reply of Redis. */
  function send(...command: readonly string[]): void {
    if (!talker.isReady) return;
    talker.sendCommand([...command]).catch(() => {});
  }

  function lock(sessionId: string): void {
    send("SET", `session_lock:${sessionId}`, instance, "EX", LOCK_SECONDS);
  }

  /**
   * Adds sessions to the Redis set of sessions with a connected client. The specification has no expiry for the set.
   * Skein sets one, because the entries of a killed machine would otherwise stay for ever.
   */
  function follow(...sessionIds: readonly string[]): void {
    send("SADD", CONNECTIONS, ...sessionIds);
    send("EXPIRE", CONNECTIONS, LOCK_SECONDS);
  }

  function show(shown: Shown): void {
    switch (shown.kind) {
      case "session":
        return send("SET", `session:${shown.session.id}`, JSON.stringify(shown.session), "EX", SESSION_SECONDS);
      case "connected":
        connected.add(shown.sessionId);
        return follow(shown.sessionId);
      case "disconnected":
        connected.delete(shown.sessionId);
        return send("SREM", CONNECTIONS, shown.sessionId);
      case "locked":
        locked.add(shown.sessionId);
        return lock(shown.sessionId);
      case "unlocked":
        locked.delete(shown.sessionId);
        return send("EVAL", UNLOCK, "1", `session_lock:${shown.sessionId}`, instance);
      case "deleted":
        locked.delete(shown.sessionId);
        // Deletes the lock even if another machine set it, because no machine works on a deleted session.
        return send("DEL", `session:${shown.sessionId}`, `session_lock:${shown.sessionId}`);
    }
  }

  function showAgain(): void {
    if (connected.size > 0) follow(...connected);
    for (const sessionId of locked) lock(sessionId);
  }

  const again = setInterval(showAgain, AGAIN_MS).unref();
  talker.on("ready", showAgain);
  for (const client of [talker, hearer]) client.connect().catch(() => {});

  return {
    instance,
    say(channel, words) {
      send("PUBLISH", PREFIX + channel, JSON.stringify({ from: instance, words }));
    },
    listen(channel, listener) {
      const hear = (text: string): void => {
        const said = Envelope.safeParse(valueOf(text)).data;
        if (said && said.from !== instance) listener(said.words);
      };
      hearer.subscribe(PREFIX + channel, hear).catch(() => {});
      return () => void hearer.unsubscribe(PREFIX + channel, hear).catch(() => {});
    },
    show,
    async check() {
      const signal = AbortSignal.timeout(CHECK_MS);
      try {
        if (!talker.isReady) await once(talker, "ready", { signal });
        await Promise.race([talker.sendCommand(["PING"]), aborted(signal)]);
      } catch (error) {
        const why = signal.aborted ? `nothing within ${CHECK_MS} ms` : String(error);
        throw new KnownError("store_unavailable", `Redis does not answer: ${why}. Sessions continue without it.`);
      }
    },
    async close() {
      closed = true;
      clearInterval(again);
      if (connected.size > 0) send("SREM", CONNECTIONS, ...connected);
      for (const sessionId of locked) send("EVAL", UNLOCK, "1", `session_lock:${sessionId}`, instance);
      const ended = Promise.all([talker, hearer].map((client) => client.close())).catch(() => {});
      await Promise.race([ended, delay(CLOSE_MS)]);
      for (const client of [talker, hearer]) if (client.isOpen) client.destroy();
    },
  };
}

async function aborted(signal: AbortSignal): Promise<never> {
  await once(signal, "abort");
  throw signal.reason;
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
