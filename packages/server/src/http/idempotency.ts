import { createHash, randomUUID } from "node:crypto";
import type { Records } from "@skein/core";
import { type Ids, isKnownError } from "@skein/protocol";
import { z } from "zod";
import type { ServerDeps } from "../deps.ts";
import { ApiError } from "./api-error.ts";

/** A success as it was answered. */
interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
  /** The session that the answer tells of. */
  readonly sessionId?: string | undefined;
}

const Entry = z.object({
  fingerprint: z.string(),
  owner: z.string(),
  /** When the owner last said that it is at work. */
  since: z.number(),
  /** The id of what the request makes: whoever does the work again after a crash makes the same thing. */
  new_id: z.string().optional(),
  answer: z.object({ status: z.number(), body: z.unknown() }).nullable(),
  /** The session that the answer told of and that was deleted since. */
  deleted: z.string().optional(),
});
type Entry = z.infer<typeof Entry>;

/** What makes a repeated request do its work once. */
export interface IdempotencyKey {
  readonly id: string;
  readonly fingerprint: string;
  /** For what the request makes beside the log, the same each time; undefined where the work has no answer to keep. */
  readonly newId: string | undefined;
}

/** Requests that may be sent again: the first one does the work, the others get its answer. */
export interface Idempotency {
  run(
    key: { readonly id: string; readonly fingerprint: string },
    work: (newId: string) => Promise<StoredAnswer>,
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
/** How long a request of another process counts as being answered without a sign of life from that process: a lease. */
const LEASE_MS = 4000;
const SIGN_OF_LIFE_MS = 1000;

export interface IdempotencyDeps {
  readonly records: Records;
  readonly now: () => number;
  readonly ids: Ids;
  readonly report: (error: unknown) => void;
  readonly process?: ServerDeps["process"];
}

interface Claimed {
  readonly entry: Entry;
  readonly version: number;
}

export function createIdempotency({ records, now, ids, report, process }: IdempotencyDeps): Idempotency {
  const instance = randomUUID();
  /** `process` tells other machines' processes apart, `instance` two servers in one process. */
  const owner = `${process?.owner ?? "?"} ${instance}`;
  const running = new Set<string>();

  /** Whether nobody is at work on an entry. What is under way here is refused before this is asked. */
  function isLost(entry: Entry): boolean {
    if (entry.owner === owner) return true;
    if (process?.isDead(entry.owner.split(" ")[0] ?? "")) return true;
    return Math.abs(now() - entry.since) > LEASE_MS;
  }

  async function claim(id: string, fingerprint: string): Promise<StoredAnswer | Claimed> {
    const found = await records.get(PLACE.tenant, PLACE.kind, id);
    if (found) {
      const entry = Entry.parse(found.value);
      if (entry.fingerprint !== fingerprint)
        throw new ApiError("key_reused", "This Idempotency-Key came before with another request.");
      if (entry.deleted !== undefined)
        throw new ApiError("not_found", `This request was answered before. Its session ${entry.deleted} was deleted.`);
      if (entry.answer) return entry.answer;
      if (!isLost(entry)) throw busy();
    }
    const before = found && Entry.parse(found.value);
    const entry: Entry = { fingerprint, owner, since: now(), new_id: before?.new_id ?? ids(), answer: null };
    try {
      return { entry, version: await put(id, entry, found?.version ?? 0) };
    } catch (error) {
      if (isKnownError(error, "conflict", "already_exists")) throw busy();
      throw error;
    }
  }

  async function put(id: string, value: Entry, expect?: number, sessionId?: string): Promise<number> {
    const fields = { day: dayOf(now()), ...(sessionId !== undefined && { session: sessionId }) };
    const [record] = await records.put([{ ...PLACE, id, value, fields, ...(expect !== undefined && { expect }) }]);
    return record?.version ?? 0;
  }

  /** The same key may be used again. Where something may have come of the work all the same, it makes the same thing again. */
  async function free(id: string, entry: Entry, error: unknown): Promise<void> {
    const isRefused = error instanceof ApiError || (isKnownError(error) && error.code !== "store_unavailable");
    if (isRefused) await records.delete(PLACE.tenant, PLACE.kind, id);
    else await put(id, { ...entry, since: 0 });
  }

  /** Says that this process is at work, until the answer is there or another process has taken the key over. */
  function keepClaim(id: string, { entry, version: first }: Claimed): () => Promise<void> {
    let version = first;
    let saying: Promise<void> | undefined;
    const say = async (): Promise<void> => {
      try {
        version = await put(id, { ...entry, since: now() }, version);
      } catch {
        // Whoever has it now does the same work, and makes the same thing.
        clearInterval(timer);
      }
      saying = undefined;
    };
    const timer = setInterval(() => void (saying ??= say()), SIGN_OF_LIFE_MS).unref();
    return async () => {
      clearInterval(timer);
      await saying;
    };
  }

  return {
    async run({ id, fingerprint }, work) {
      if (running.has(id)) throw await reusedOrBusy(records, id, fingerprint);
      running.add(id);
      try {
        const claimed = await claim(id, fingerprint);
        if (!("entry" in claimed)) return { ...claimed, replayed: true };
        const release = keepClaim(id, claimed);
        let answer: StoredAnswer;
        try {
          answer = await work(claimed.entry.new_id ?? ids());
        } catch (error) {
          await release();
          // If it cannot be written that the key is free, the claim runs out.
          await free(id, claimed.entry, error).catch(() => {});
          throw error;
        }
        await release();
        const { status, body, sessionId } = answer;
        // The work is done, whether or not its answer can be kept: a repetition does it again, and makes the same thing.
        const entry = { ...claimed.entry, since: now(), answer: { status, body } };
        await put(id, entry, undefined, sessionId).catch(report);
        return { ...answer, replayed: false };
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

/** Removes what answers say of a session that is deleted. Whoever repeats such a request is told that it is gone. */
export async function forgetAnswers(records: Records, sessionId: string): Promise<void> {
  const field = { name: "session", value: sessionId };
  for (;;) {
    const { items } = await records.list({ ...PLACE, field, limit: 200 });
    if (items.length === 0) return;
    for (const { id, value } of items) {
      const entry: Entry = { ...Entry.parse(value), answer: null, deleted: sessionId };
      await records.put([{ ...PLACE, id, value: entry, fields: { day: dayOf(entry.since) } }]);
    }
  }
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
