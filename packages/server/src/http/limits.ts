import { ApiError } from "./api-error.ts";

/** The limits of one key, and of the server. docs/reference/http.md has the defaults. */
export interface Limits {
  /** The average number of requests that a key may make per second. */
  readonly requestsPerSecond: number;
  /** The number of requests that a key may make in a burst, above the average rate. */
  readonly requestBurst: number;
  /** Streams (SSE and WebSocket) that a key may have open. */
  readonly streams: number;
  /** Streams that all keys together may have open. */
  readonly allStreams: number;
  /** Sessions that a key may open per minute. */
  readonly sessionsPerMinute: number;
  /** Prompts that may wait in a session. */
  readonly queuedPrompts: number;
  /** Wrong keys that an address may send per minute. A valid key is never rejected because of them. */
  readonly wrongKeysPerMinute: number;
  /** The largest body of a request, in bytes. Requests with messages and imports have separate limits. */
  readonly bodyBytes: number;
  readonly messageBytes: number;
  readonly importBytes: number;
  /**
   * Bytes of the large bodies, of all keys together, that are read and processed at the same time. Other large bodies
   * wait for their turn.
   */
  readonly bytesInFlight: number;
  /** How long the headers and the body of a request may take to arrive. */
  readonly requestMs: number;
  /** Bytes of a stream that may wait for its client, if the client reads slowly. */
  readonly backlogBytes: number;
  /** How long the client of a stream may read too slowly before it is disconnected. */
  readonly backlogMs: number;
  readonly heartbeatMs: number;
  /** How long a request may wait for the end of its run. */
  readonly answerMs: number;
  /** SQL statements that all keys together may run at the same time. */
  readonly statements: number;
  /** Webhook notices, of all tenants together, that are sent at the same time. */
  readonly notices: number;
  /** How long an SQL statement may run. */
  readonly statementMs: number;
  readonly statementRows: number;
  readonly statementBytes: number;
}

export const DEFAULT_LIMITS: Limits = {
  requestsPerSecond: 200,
  requestBurst: 500,
  streams: 100,
  allStreams: 2000,
  sessionsPerMinute: 600,
  queuedPrompts: 100,
  wrongKeysPerMinute: 30,
  bodyBytes: 1024 * 1024,
  messageBytes: 32 * 1024 * 1024,
  importBytes: 64 * 1024 * 1024,
  bytesInFlight: 64 * 1024 * 1024,
  requestMs: 60_000,
  backlogBytes: 1024 * 1024,
  backlogMs: 5000,
  heartbeatMs: 15_000,
  answerMs: 600_000,
  statements: 2,
  notices: 64,
  statementMs: 5000,
  statementRows: 10_000,
  statementBytes: 10 * 1024 * 1024,
};

/**
 * Counts what each key uses. If several processes use one store, each process allows a part of a limit, so that the
 * limits hold for all processes together.
 */
export interface Meter {
  /** Counts one request of a key. Throws `rate_limited` with the time to wait. */
  request(keyId: string): void;
  session(keyId: string): void;
  /** Counts one wrong key from an address. */
  wrongKey(address: string): void;
  /** Counts one stream as open. Returns a function that counts it as closed. */
  stream(keyId: string): () => void;
}

/** A token bucket. */
interface Bucket {
  tokens: number;
  at: number;
}

/** A limit: its name in the settings, and a sentence about it. */
interface Named {
  readonly limit: keyof Limits;
  readonly says: string;
}

interface Rate extends Named {
  /** Tokens that are added per second. */
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

/**
 * The most buckets of one kind in memory. Above this number they are dropped, and every key begins with a full bucket.
 */
const BUCKETS = 10_000;

export function createMeter(limits: Limits, now: () => number, processes: () => number = () => 1): Meter {
  const requests = new Map<string, Bucket>();
  const sessions = new Map<string, Bucket>();
  const refusals = new Map<string, Bucket>();
  const streams = new Map<string, number>();
  const rates = ratesOf(limits);
  const openStreams: Named = { limit: "streams", says: `a key may have ${limits.streams} streams open` };

  function take(buckets: Map<string, Bucket>, keyId: string, { rate: all, size: most, ...what }: Rate): void {
    const at = now();
    const [rate, size] = [all / processes(), Math.max(1, most / processes())];
    const bucket = buckets.get(keyId) ?? { tokens: size, at };
    // A clock that goes back must not remove tokens.
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
  };
}

/** The response to a request over a limit. */
export function tooMany({ limit, says }: Named, seconds: number): ApiError {
  const wait = Math.max(1, Math.min(seconds, 60));
  return new ApiError("rate_limited", `Rate limit ${limit}: ${says}. Retry in ${wait} s.`, {
    headers: { "retry-after": String(wait) },
    details: { limit },
  });
}
