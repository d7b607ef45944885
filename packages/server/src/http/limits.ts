import { ApiError } from "./api-error.ts";

/** What one key may use. docs/http.md has the defaults. */
export interface Limits {
  /** Requests per second that a key may make on average. */
  readonly requestsPerSecond: number;
  /** Requests that a key may make at once before the average counts. */
  readonly requestBurst: number;
  /** Streams (SSE and WebSocket) that a key may have open. */
  readonly streams: number;
  /** Sessions that a key may open per minute. */
  readonly sessionsPerMinute: number;
  /** Wrong keys that an address may send per minute. A right key is never refused for those. */
  readonly wrongKeysPerMinute: number;
  /** Bytes of a body; messages and imports have limits of their own. */
  readonly bodyBytes: number;
  readonly messageBytes: number;
  readonly importBytes: number;
  /** How long a request may take to arrive, its headers and its body. */
  readonly requestMs: number;
  /** Bytes that may wait for one slow reader. */
  readonly backlogBytes: number;
  /** How long a reader may stay behind before it is cut. */
  readonly backlogMs: number;
  readonly heartbeatMs: number;
  /** How long a request may wait for the end of a run. */
  readonly answerMs: number;
  /** Statements of SQL that run at once, of all keys together. */
  readonly statements: number;
  /** How long a statement may run, and how much of its answer is sent. */
  readonly statementMs: number;
  readonly statementRows: number;
  readonly statementBytes: number;
}

export const DEFAULT_LIMITS: Limits = {
  requestsPerSecond: 200,
  requestBurst: 500,
  streams: 100,
  sessionsPerMinute: 600,
  wrongKeysPerMinute: 30,
  bodyBytes: 1024 * 1024,
  messageBytes: 32 * 1024 * 1024,
  importBytes: 64 * 1024 * 1024,
  requestMs: 60_000,
  backlogBytes: 1024 * 1024,
  backlogMs: 5000,
  heartbeatMs: 15_000,
  answerMs: 600_000,
  statements: 2,
  statementMs: 5000,
  statementRows: 10_000,
  statementBytes: 10 * 1024 * 1024,
};

/** Counts what each key uses. Of several processes on one store each grants its share, so that the limits hold for all together. */
export interface Meter {
  /** Takes one request of a key, or refuses with when to come again. */
  request(keyId: string): void;
  session(keyId: string): void;
  /** Takes one wrong key from an address. */
  wrongKey(address: string): void;
  /** Takes one stream; answers how to give it back. */
  stream(keyId: string): () => void;
  /** Takes a place for a statement of SQL; answers how to give it back. */
  statement(): () => void;
}

/** A bucket that fills at a steady rate. */
interface Bucket {
  tokens: number;
  at: number;
}

/** A limit by its name in the settings, and what it allows. */
interface Named {
  readonly limit: keyof Limits;
  readonly says: string;
}

interface Rate extends Named {
  /** How many come back per second. */
  readonly rate: number;
  readonly size: number;
}

function ratesOf(limits: Limits): Record<"request" | "session" | "wrongKey", Rate> {
  const { requestsPerSecond, requestBurst, sessionsPerMinute, wrongKeysPerMinute } = limits;
  return {
    request: {
      limit: "requestsPerSecond",
      says: `a key may make ${requestsPerSecond} requests per second, and ${requestBurst} at once`,
      rate: requestsPerSecond,
      size: requestBurst,
    },
    session: {
      limit: "sessionsPerMinute",
      says: `a key may open ${sessionsPerMinute} sessions per minute`,
      rate: sessionsPerMinute / 60,
      size: sessionsPerMinute,
    },
    wrongKey: {
      limit: "wrongKeysPerMinute",
      says: `an address may try ${wrongKeysPerMinute} wrong keys per minute`,
      rate: wrongKeysPerMinute / 60,
      size: wrongKeysPerMinute,
    },
  };
}

/** Keys whose buckets are remembered; a full bucket can be forgotten without anybody noticing. */
const BUCKETS = 10_000;

export function createMeter(limits: Limits, now: () => number, processes: () => number = () => 1): Meter {
  const requests = new Map<string, Bucket>();
  const sessions = new Map<string, Bucket>();
  const refusals = new Map<string, Bucket>();
  const streams = new Map<string, number>();
  let statements = 0;
  const rates = ratesOf(limits);
  const openStreams: Named = { limit: "streams", says: `a key may have ${limits.streams} streams open` };
  const running: Named = { limit: "statements", says: `${limits.statements} statements of SQL may run at once` };

  function take(buckets: Map<string, Bucket>, keyId: string, { rate: all, size: most, ...what }: Rate): void {
    const at = now();
    const [rate, size] = [all / processes(), Math.max(1, most / processes())];
    const bucket = buckets.get(keyId) ?? { tokens: size, at };
    // A clock may go back; what was there stays there.
    bucket.tokens = Math.min(size, bucket.tokens + (Math.max(0, at - bucket.at) / 1000) * rate);
    bucket.at = at;
    if (buckets.size > BUCKETS) buckets.clear();
    buckets.set(keyId, bucket);
    if (bucket.tokens < 1) throw tooMany(what, Math.ceil((1 - bucket.tokens) / rate));
    bucket.tokens -= 1;
  }

  return {
    request: (keyId) => take(requests, keyId, rates.request),
    session: (keyId) => take(sessions, keyId, rates.session),
    wrongKey: (address) => take(refusals, address, rates.wrongKey),
    stream(keyId) {
      const open = streams.get(keyId) ?? 0;
      if (open >= Math.ceil(limits.streams / processes())) throw tooMany(openStreams, 5);
      streams.set(keyId, open + 1);
      let given = false;
      return () => {
        if (given) return;
        given = true;
        const left = (streams.get(keyId) ?? 1) - 1;
        if (left === 0) streams.delete(keyId);
        else streams.set(keyId, left);
      };
    },
    statement() {
      if (statements >= limits.statements) throw tooMany(running, 1);
      statements += 1;
      return () => void (statements -= 1);
    },
  };
}

function tooMany({ limit, says }: Named, seconds: number): ApiError {
  const wait = Math.max(1, Math.min(seconds, 60));
  return new ApiError("rate_limited", `Over the limit ${limit}: ${says}. Try again in ${wait} s.`, {
    headers: { "retry-after": String(wait) },
    details: { limit },
  });
}
