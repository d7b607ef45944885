import { setTimeout as delay } from "node:timers/promises";
import type { Followers } from "@skein/core";
import type { Connections } from "./connections.ts";
import { keepAliveUntil } from "./keep-process-alive.ts";
import type pg from "pg";

const CHANNEL = "skein_news";
/**
 * How long ids are collected, so that many appends share one NOTIFY. With a NOTIFY in each transaction, appends would
 * wait for each other.
 */
const GATHER_MS = 20;
const SWEEP_MS = 1000;
/** A payload has at most 7,999 bytes, and an id with its separator has 37 bytes. */
const IDS_PER_PAYLOAD = 200;
/** How long `close` waits for the last NOTIFY. A database that hangs does not accept it. */
const CLOSE_MS = 1000;
const RETRY_MS = [100, 300, 1000, 2000] as const;

const LAST_SEQUENCES = {
  name: "skein-last-sequences",
  text: "select session_id, last_sequence from skein.heads where session_id = any($1)",
};

const NOTIFY = { name: "skein-notify", text: `select pg_notify('${CHANNEL}', $1)` };

export interface NotificationsDeps {
  readonly connections: Connections;
  readonly followers: Followers;
  /** Identifies this process, so that it ignores the notifications that it sent. */
  readonly instance: string;
}

/**
 * Notifies other processes of the appends of this process, and receives their notifications. Notifications may be lost.
 * A regular sweep finds appends whose notification was lost.
 */
export interface Notifications {
  /** Called after the commit. `last` is the last sequence that this process's followers have received. */
  announce(sessionId: string, last: number): void;
  /** Settles when this process listens, or when the first attempt to listen has failed. */
  readonly listening: Promise<void>;
  close(): Promise<void>;
}

export function createNotifications({ connections, followers, instance }: NotificationsDeps): Notifications {
  const waiting = new Set<string>();
  /** The last known sequence of each followed session. */
  const known = new Map<string, number>();
  let gathering: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();
  /**
   * The connection for LISTEN and NOTIFY. It receives its notifications with the answer to its NOTIFY, without an extra
   * wake-up.
   */
  let line: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  async function send(): Promise<void> {
    const ids = [...waiting];
    waiting.clear();
    try {
      for (let i = 0; i < ids.length; i += IDS_PER_PAYLOAD)
        await line?.query({ ...NOTIFY, values: [[instance, ...ids.slice(i, i + IDS_PER_PAYLOAD)].join(" ")] });
    } catch {
      // Other processes get no notification. Their sweep finds the events.
    }
  }

  function hear({ payload = "" }: pg.Notification): void {
    const [from, ...ids] = payload.split(" ");
    if (from === instance) return;
    for (const id of ids) followers.poke(id);
  }

  async function connect(attempt = 0): Promise<void> {
    if (closed) return;
    const client = connections.dedicated();
    let over = false;
    const again = (): void => {
      if (over || closed) return;
      over = true;
      line = undefined;
      retry = setTimeout(() => void connect(attempt + 1), RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)]);
      retry.unref();
    };
    client.on("error", again);
    client.on("end", again);
    client.on("notification", hear);
    try {
      await client.connect();
      // Commits without a disk flush. A notification need not be durable, and its flush would delay the flushes of
      // appends.
      await client.query(`set synchronous_commit = off; listen ${CHANNEL}`);
      if (closed) return await end(client);
      line = client;
      // A connection that only listens must not keep the process alive.
      client.unref();
      attempt = 0;
      // Events may have been announced while this process was not listening.
      for (const sessionId of followers.followed()) followers.poke(sessionId);
    } catch {
      again();
    }
  }

  async function sweep(): Promise<void> {
    const followed = new Set(followers.followed());
    for (const sessionId of known.keys()) if (!followed.has(sessionId)) known.delete(sessionId);
    if (followed.size === 0) return;
    const rows = await connections.query(LAST_SEQUENCES, [[...followed]]);
    const last = new Map(rows.map(([sessionId, sequence]) => [sessionId, Number(sequence)]));
    for (const sessionId of followed) {
      const sequence = last.get(sessionId) ?? -1;
      if (known.get(sessionId) === sequence) continue;
      known.set(sessionId, sequence);
      followers.poke(sessionId);
    }
  }

  async function lastWords(): Promise<void> {
    await listening;
    if (waiting.size > 0) sending = sending.then(send);
    await sending;
    await end(line);
  }

  let sweeping = false;
  const timer = setInterval(() => {
    if (sweeping) return;
    sweeping = true;
    // If the database is unavailable, the next sweep tries again.
    void sweep()
      .catch(() => {})
      .finally(() => (sweeping = false));
  }, SWEEP_MS);
  timer.unref();
  const listening = connect();

  return {
    listening,
    announce(sessionId, last) {
      if (known.has(sessionId)) known.set(sessionId, Math.max(known.get(sessionId) ?? 0, last));
      waiting.add(sessionId);
      gathering ??= setTimeout(() => {
        gathering = undefined;
        sending = sending.then(send);
      }, GATHER_MS);
    },
    async close() {
      closed = true;
      clearInterval(timer);
      clearTimeout(retry);
      clearTimeout(gathering);
      await keepAliveUntil(Promise.race([lastWords(), delay(CLOSE_MS)]));
    },
  };
}

/** Closes a connection. Ignores errors, because a broken connection cannot be closed properly. */
async function end(client: pg.Client | undefined): Promise<void> {
  await client?.end().catch(() => {});
}
