import { type FairQueue, type GiveBack, createFairQueue } from "@skein/core";
import { LARGE } from "./json-body.ts";
import { type Limits, tooMany } from "./limits.ts";

/**
 * Limits the resources that all tenants of a server share: SQL statements, large bodies, streams and webhook notices.
 */
export interface SharedPlaces {
  readonly notices: FairQueue;
  readonly queues: Readonly<Record<"statements" | "bodies" | "streams" | "notices", FairQueue>>;
  /**
   * Waits until an SQL statement may run. Throws `rate_limited` after 1.5 times the time limit of a statement plus 1 s.
   */
  statement(tenant: string, signal: AbortSignal): Promise<GiveBack>;
  /** Waits until memory for a body of this size is free. Throws `rate_limited` after half of a request's time limit. */
  body(tenant: string, bytes: number): Promise<GiveBack>;
  /** Waits until memory for a WebSocket message is free. A small message does not wait. */
  message(tenant: string, bytes: number): Promise<GiveBack | undefined>;
  /** Counts a new stream. Throws immediately at the limit, because a reader may keep a stream open for any time. */
  stream(tenant: string): GiveBack;
}

export function createSharedPlaces(limits: Limits, isShared: () => boolean): SharedPlaces {
  const queue = (places: number): FairQueue => createFairQueue({ places, isShared });
  const statements = queue(limits.statements);
  const bodies = queue(limits.bytesInFlight);
  const streams = queue(limits.allStreams);
  const notices = queue(limits.notices);

  async function body(tenant: string, bytes: number): Promise<GiveBack> {
    const signal = AbortSignal.timeout(limits.requestMs / 2);
    const room = await bodies.take(tenant, { size: bytes, signal });
    const began = performance.now();
    if (room) return () => (isShared() ? setTimeout(room, pauseAfter(began)).unref() : room());
    const says = `large bodies of ${mebibytes(limits.bytesInFlight)} in total are processed at once, shared by all tenants`;
    throw tooMany({ limit: "bytesInFlight", says }, 5);
  }

  return {
    notices,
    queues: { statements, bodies, streams, notices },
    async statement(tenant, signal) {
      const late = AbortSignal.timeout(patienceMs(limits));
      const place = await statements.take(tenant, { signal: AbortSignal.any([signal, late]) });
      if (place) return place;
      const { waiting } = statements.figures();
      const says = `${limits.statements} SQL statements may run at once, shared by all tenants, and ${waiting} others wait`;
      const seconds = Math.ceil(((waiting + 1) / limits.statements) * (limits.statementMs / 1000));
      throw tooMany({ limit: "statements", says }, seconds);
    },
    body,
    message: async (tenant, bytes) => (bytes > LARGE ? body(tenant, bytes) : undefined),
    stream(tenant) {
      const place = streams.tryTake(tenant);
      if (place) return place;
      const says = `${limits.allStreams} streams may be open, shared by all tenants`;
      throw tooMany({ limit: "allStreams", says }, 5);
    },
  };
}

/**
 * Returns how long the tenant's next large body waits. A large body and its run keep this process busy. The wait is as
 * long as the work on the previous body, so that other tenants get half of the time.
 */
function pauseAfter(began: number): number {
  return Math.min(performance.now() - began, 1000);
}

/** Returns how long a statement waits for others. It is long enough for a running statement to reach its time limit. */
function patienceMs({ statementMs }: Limits): number {
  return statementMs * 1.5 + 1000;
}

function mebibytes(bytes: number): string {
  return `${Math.round((bytes / 1024 / 1024) * 10) / 10} MiB`;
}
