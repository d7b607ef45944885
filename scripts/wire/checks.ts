import { connect } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createKeys } from "@skein/server";
import { openStore } from "skein";
import type { Served } from "../fuzz/start-server.ts";
import { type Reader, readStream } from "./reader.ts";
import { openSession } from "./served-session.ts";

/** A check and its result. */
export interface Finding {
  readonly what: string;
  readonly passed: boolean;
  readonly says: string;
}

const PIECES = 20;
const PAUSE_MS = 100;

/**
 * Checks that every event of a stream arrives once, that drafts (pieces of an answer) arrive without delay, and that a
 * reconnect gets the rest.
 */
export async function live(served: Served, name: string, url: string): Promise<Finding> {
  const { path, headers, talk } = await openSession(served);
  const reader = await readStream(`${url}${path}/events`, headers);
  await talk(PIECES, PAUSE_MS);
  await until(() => reader.frames.some(({ event }) => event === "session.completed"), 30_000);
  reader.close();
  const drafts = reader.frames.filter(({ event }) => event === "step.generating");
  const spread = (drafts.at(-1)?.at ?? 0) - (drafts[0]?.at ?? 0);
  const ids = reader.frames.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
  const isWhole = ids.length > 5 && ids.every((id, at) => id === at + 1);
  const middle = String(Math.floor(ids.length / 2));
  const again = await readStream(`${url}${path}/events`, { ...headers, "last-event-id": middle });
  await until(() => again.frames.length >= ids.length - Number(middle), 10_000);
  again.close();
  const rest = again.frames.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
  const goesOn = rest.length === ids.length - Number(middle) && rest[0] === Number(middle) + 1;
  // Through a proxy that buffers, all drafts would arrive together at the end.
  const isLive = drafts.length >= PIECES / 2 && spread > (PIECES * PAUSE_MS) / 4;
  return {
    what: `live through ${name}`,
    passed: isWhole && isLive && goesOn,
    says: `${ids.length} events, ${drafts.length} drafts over ${spread} ms${goesOn ? "" : "; did not continue after a cut"}`,
  };
}

/** Checks that an idle stream stays open, and delivers the next event. */
export async function idle(
  served: Served,
  ways: readonly { readonly name: string; readonly url: string }[],
  minutes: number,
): Promise<readonly Finding[]> {
  const { path, headers, edit } = await openSession(served);
  const readers = await Promise.all(
    ways.map(async ({ name, url }) => ({ name, reader: await readStream(`${url}${path}/events`, headers) })),
  );
  const began = Date.now();
  await delay(minutes * 60_000);
  await edit("After a long silence");
  const heard = (reader: Reader): boolean => reader.frames.some(({ data }) => data.includes("After a long silence"));
  await until(() => readers.every(({ reader }) => heard(reader)), 10_000).catch(() => {});
  return readers.map(({ name, reader }) => {
    reader.close();
    const longest = longestPause([began, ...reader.comments]);
    return {
      what: `idle for ${minutes} min through ${name}`,
      passed: heard(reader) && (minutes < 1 || longest <= 16_000),
      says: reader.ended() ?? `${reader.comments.length} comments, at most ${(longest / 1000).toFixed(1)} s apart`,
    };
  });
}

function longestPause(times: readonly number[]): number {
  return Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time)));
}

/** Checks that idle connections do not block other connections. Each idle connection has sent a request. */
export async function idleConnections({ url }: Served, count: number): Promise<Finding> {
  const { port } = new URL(url);
  const sockets: Socket[] = [];
  let refused = 0;
  for (let at = 0; at < count; at++) {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => (refused += 1));
    socket.resume();
    socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    sockets.push(socket);
    if (at % 50 === 49) await delay(10);
  }
  await delay(500);
  const began = performance.now();
  const { status } = await fetch(`${url}/health`);
  const ms = performance.now() - began;
  for (const socket of sockets) socket.destroy();
  return {
    what: `${count} idle connections`,
    passed: refused === 0 && status === 200 && ms < 5000,
    says: `${refused} rejected; the next request took ${ms.toFixed(0)} ms`,
  };
}

/** Measures how soon the stream of a key ends after another process revokes the key. */
export async function revoked(served: Served, storeUrl: string): Promise<Finding> {
  const { path } = await openSession(served);
  const store = await openStore(storeUrl);
  try {
    const keys = createKeys({ records: store.records });
    const key = await keys.make({ name: "guest", scopes: ["read"], tenant: "default" });
    const reader = await readStream(`${served.url}${path}/events`, { "x-api-key": key });
    await until(() => reader.frames.length > 0, 10_000);
    const began = Date.now();
    await keys.revoke("guest");
    await until(() => reader.ended() !== undefined, 10_000).catch(() => {});
    const ms = Date.now() - began;
    reader.close();
    return {
      what: "a revoked key loses its stream",
      passed: ms <= 5000 && reader.frames.at(-1)?.event === "stream.closing",
      says: `after ${ms} ms`,
    };
  } finally {
    await store.close();
  }
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".split("");
const WARM_UP = 5000;

/**
 * Checks that the time until a rejection does not depend on the position of a wrong letter in a key. Keys with a wrong
 * first letter and keys with a wrong last letter are sent in random order, so that other load affects both kinds.
 */
export async function keyTiming({ url, keys }: Served, requests: number): Promise<Finding> {
  // Each kind has many keys, because a single key may be slow to look up by chance.
  const wrongFirst = LETTERS.filter((letter) => !keys.admin.startsWith(letter)).map(
    (letter) => letter + keys.admin.slice(1),
  );
  const wrongLast = LETTERS.filter((letter) => !keys.admin.endsWith(letter)).map(
    (letter) => keys.admin.slice(0, -1) + letter,
  );
  const kinds = [wrongFirst, wrongLast] as const;
  const ask = createAsker(url);
  const times: [number[], number[]] = [[], []];
  for (let at = 0; at < requests + WARM_UP; at++) {
    const which = Math.random() < 0.5 ? 0 : 1;
    const took = await ask(kinds[which][at % 60] ?? "");
    if (at >= WARM_UP) times[which].push(took);
  }
  ask.close();
  const [first, last] = [statistics(times[0]), statistics(times[1])];
  const sigma = Math.hypot(first.error, last.error);
  const difference = Math.abs(first.mean - last.mean);
  return {
    what: `time of a rejection, ${requests.toLocaleString("en")} requests`,
    passed: difference < 3 * sigma,
    says: `keys with a wrong first letter ${first.mean.toFixed(2)} µs, with a wrong last letter ${last.mean.toFixed(2)} µs, ${(difference / sigma).toFixed(2)} σ apart`,
  };
}

/** Returns the mean and its standard error, without the slowest 1 %, which other load on the machine caused. */
function statistics(times: readonly number[]): { readonly mean: number; readonly error: number } {
  const kept = times.toSorted((a, b) => a - b).slice(0, Math.ceil(times.length * 0.99));
  const mean = kept.reduce((sum, time) => sum + time, 0) / kept.length;
  const variance = kept.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (kept.length - 1);
  return { mean, error: Math.sqrt(variance / kept.length) };
}

/**
 * Makes a function that sends a request with a key over one connection, and returns the microseconds until the
 * rejection.
 */
function createAsker(url: string) {
  const { port } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.setNoDelay(true);
  const ask = (key: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const began = performance.now();
      socket.once("data", (answer) => {
        const took = (performance.now() - began) * 1000;
        if (answer.toString("latin1", 9, 12) === "401") resolve(took);
        else reject(new Error(`Expected 401: ${answer.toString("latin1", 0, 100)}`));
      });
      socket.write(`GET /v1/agents HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\n\r\n`);
    });
  return Object.assign(ask, { close: () => socket.destroy() });
}

export async function until(isTrue: () => boolean, ms: number): Promise<void> {
  for (const end = Date.now() + ms; !isTrue();) {
    if (Date.now() > end) throw new Error(`The awaited state did not appear within ${ms / 1000} s.`);
    await delay(20);
  }
}
