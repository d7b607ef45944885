import { createHash, randomUUID } from "node:crypto";
import type { Records } from "@skein/core";
import { isKnownError } from "@skein/protocol";
import { z } from "zod";
import { ApiError } from "./api-error.ts";

/** A success as it was answered. */
interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
}

const Entry = z.object({
  fingerprint: z.string(),
  owner: z.string(),
  since: z.number(),
  answer: z.object({ status: z.number(), body: z.unknown() }).nullable(),
});
type Entry = z.infer<typeof Entry>;

/** Requests that may be sent again: the first one does the work, the others get its answer. */
export interface Idempotency {
  run(
    key: { readonly id: string; readonly fingerprint: string },
    work: () => Promise<StoredAnswer>,
  ): Promise<StoredAnswer & { readonly replayed: boolean }>;
  /** Removes answers of days that are over for good: each is kept for 24 hours at least and 48 at most. */
  sweep(): Promise<void>;
}

const PLACE = { tenant: "$idempotency", kind: "answer" } as const;
/** Until which day answers were removed, so that a server that was off for weeks misses none. */
const SWEPT = { tenant: "$idempotency", kind: "sweep", id: "last" } as const;
const Swept = z.object({ day: z.iso.date() });
const DAY_MS = 24 * 3600 * 1000;
/** How far back a store is looked through that was never swept. */
const FIRST_SWEEP_MS = 30 * DAY_MS;
/** After that long, a request of another process counts as lost with it. */
const LOST_MS = 30_000;

export function createIdempotency({ records, now }: { records: Records; now: () => number }): Idempotency {
  const owner = randomUUID();
  const running = new Set<string>();

  async function claim(id: string, fingerprint: string): Promise<StoredAnswer | undefined> {
    const fresh: Entry = { fingerprint, owner, since: now(), answer: null };
    const found = await records.get(PLACE.tenant, PLACE.kind, id);
    if (found) {
      const entry = Entry.parse(found.value);
      if (entry.fingerprint !== fingerprint)
        throw new ApiError("key_reused", "This Idempotency-Key came before with another request.");
      if (entry.answer) return entry.answer;
      const lost = entry.owner === owner ? !running.has(id) : Math.abs(now() - entry.since) > LOST_MS;
      if (!lost) throw busy();
    }
    try {
      await records.put([{ ...PLACE, id, value: fresh, fields: { day: dayOf(now()) }, expect: found?.version ?? 0 }]);
    } catch (error) {
      if (isKnownError(error, "conflict", "already_exists")) throw busy();
      throw error;
    }
    return undefined;
  }

  return {
    async run({ id, fingerprint }, work) {
      if (running.has(id)) throw await reusedOrBusy(records, id, fingerprint);
      running.add(id);
      try {
        const before = await claim(id, fingerprint);
        if (before) return { ...before, replayed: true };
        try {
          const answer = await work();
          const value: Entry = {
            fingerprint,
            owner,
            since: now(),
            answer: { status: answer.status, body: answer.body },
          };
          await records.put([{ ...PLACE, id, value, fields: { day: dayOf(now()) } }]);
          return { ...answer, replayed: false };
        } catch (error) {
          // Nothing came of it: the same key may be used again.
          await records.delete(PLACE.tenant, PLACE.kind, id);
          throw error;
        }
      } finally {
        running.delete(id);
      }
    },
    async sweep() {
      const last = now() - 2 * DAY_MS;
      const swept = await records.get(SWEPT.tenant, SWEPT.kind, SWEPT.id);
      const first = swept ? Date.parse(Swept.parse(swept.value).day) + DAY_MS : last - FIRST_SWEEP_MS;
      for (let day = first; day <= last; day += DAY_MS) await removeDay(records, dayOf(day));
      if (first <= last) await records.put([{ ...SWEPT, value: { day: dayOf(last) } }]);
    },
  };
}

async function removeDay(records: Records, day: string): Promise<void> {
  const field = { name: "day", value: day };
  for (;;) {
    const { items } = await records.list({ ...PLACE, field, limit: 200 });
    if (items.length === 0) return;
    await Promise.all(items.map(({ id }) => records.delete(PLACE.tenant, PLACE.kind, id)));
  }
}

/** The day (UTC) of a time. */
function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

async function reusedOrBusy(records: Records, id: string, fingerprint: string): Promise<ApiError> {
  const found = await records.get(PLACE.tenant, PLACE.kind, id);
  const other = found && Entry.parse(found.value).fingerprint !== fingerprint;
  return other ? new ApiError("key_reused", "This Idempotency-Key came before with another request.") : busy();
}

function busy(): ApiError {
  return new ApiError("in_progress", "A request with this Idempotency-Key is being answered. Try again in a moment.", {
    headers: { "retry-after": "1" },
  });
}

/** What identifies a request: who sent it, where to, and the digest of what it says. */
export function idempotencyKey(
  header: string | readonly string[] | undefined,
  request: { readonly keyId: string; readonly method: string; readonly path: string; readonly body: string },
): { readonly id: string; readonly fingerprint: string } | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || !/^[\x20-\x7e]{1,255}$/.test(header))
    throw new ApiError("invalid", "Idempotency-Key: Expected 1 to 255 printable characters.");
  const { keyId, method, path, body } = request;
  const hash = (...parts: readonly string[]): string => createHash("sha256").update(parts.join("\n")).digest("hex");
  return { id: hash(keyId, header), fingerprint: hash(method, path, body) };
}
