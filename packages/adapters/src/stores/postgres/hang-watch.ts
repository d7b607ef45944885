import { KnownError } from "@skein/protocol";

/**
 * Detects a PostgreSQL that accepts queries but does not answer, for example because it is stopped or the network drops
 * packets.
 *
 * If nothing arrives on a query's connection for 4 s, the watch sends a query on a new connection. If this query gets
 * no answer either, the database hangs. All waiting and new queries are then rejected until the database answers again.
 * A statement that is only slow is rejected after 5 s of silence. A statement marked `patient` is ended only by the
 * database. Reasons: docs/decisions/111-a-database-that-hangs.md.
 */
export interface HangWatch {
  /**
   * Resolves with the answer of `work`, or rejects with `store_unavailable`. `moved` returns a number that changes when
   * the connection receives or sends bytes.
   */
  limited<Result>(work: Promise<Result>, options?: { moved?: () => number; patient?: boolean }): Promise<Result>;
  /** Throws while the database is known to hang. */
  refuseIfHung(): void;
  close(): void;
}

export interface HangWatchDeps {
  /** Sends a query on a new connection. Rejects if there is no answer within a second. */
  readonly probe: () => Promise<void>;
  readonly now?: () => number;
}

const PROBE_AFTER_MS = 4000;
const SILENT_MS = 5000;
const LOOK_MS = 250;
const PROBE_AGAIN_MS = 250;

interface Waiting {
  /** When bytes last moved on the connection. */
  at: number;
  seen: number;
  readonly moved: () => number;
  readonly patient: boolean;
  readonly reject: (error: unknown) => void;
}

export function createHangWatch({ probe, now = () => performance.now() }: HangWatchDeps): HangWatch {
  const waiting = new Set<Waiting>();
  let looking: NodeJS.Timeout | undefined;
  let probing = false;
  let hung = false;
  const over = new AbortController();

  function look(): void {
    const at = now();
    let mayHang = false;
    for (const one of waiting) {
      const seen = one.moved();
      if (seen !== one.seen) Object.assign(one, { at, seen });
      const silent = at - one.at;
      if (silent >= PROBE_AFTER_MS) mayHang = true;
      if (silent >= SILENT_MS && !one.patient) one.reject(noAnswer());
    }
    if (mayHang) void ask();
    if (waiting.size > 0) return;
    clearInterval(looking);
    looking = undefined;
  }

  /** Sends queries until the database answers. Until then, all waiting and new queries are rejected. */
  async function ask(): Promise<void> {
    if (probing) return;
    probing = true;
    while (!over.signal.aborted) {
      const answers = await probe().then(
        () => true,
        () => false,
      );
      if (answers) break;
      hung = true;
      for (const one of waiting) one.reject(noAnswer());
      await new Promise((resolve) => setTimeout(resolve, PROBE_AGAIN_MS).unref());
    }
    hung = false;
    probing = false;
  }

  return {
    async limited(work, { moved = () => 0, patient = false } = {}) {
      const { promise: given, reject } = Promise.withResolvers<never>();
      const one: Waiting = { at: now(), seen: moved(), moved, patient, reject };
      waiting.add(one);
      looking ??= setInterval(look, LOOK_MS).unref();
      try {
        // The caller of a rejected query does not wait for it any longer, even if the database answers later.
        return await Promise.race([work, given]);
      } finally {
        waiting.delete(one);
      }
    },
    refuseIfHung() {
      if (hung) throw noAnswer();
    },
    close() {
      over.abort();
      clearInterval(looking);
    },
  };
}

function noAnswer(): KnownError {
  return new KnownError("store_unavailable", "PostgreSQL does not answer.");
}
