import { createHash, randomUUID } from "node:crypto";
import type { Records } from "@skein/core";
import { type Ids, isKnownError } from "@skein/protocol";
import { z } from "zod";
import type { ServerDeps } from "../deps.ts";
import { ApiError } from "./api-error.ts";

/** The response of a request that succeeded. */
interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
  /** The id of the session that the response is about. */
  readonly sessionId?: string | undefined;
}

const Entry = z.object({
  fingerprint: z.string(),
  owner: z.string(),
  /** When the owner last reported that it is working on the request. */
  since: z.number(),
  /**
   * The id of the created resource. If the request is repeated after a crash, it creates the resource under the same
   * id.
   */
  new_id: z.string().optional(),
  answer: z.object({ status: z.number(), body: z.unknown() }).nullable(),
  /** The id of the session that the answer was about, if this session was deleted later. */
  deleted: z.string().optional(),
});
type Entry = z.infer<typeof Entry>;

/** The Idempotency-Key of a request. Repeated requests with the same key do their work only once. */
export interface IdempotencyKey {
  readonly id: string;
  readonly fingerprint: string;
  /** The id of the created resource, the same for each repeated request. Undefined if the response is a stream. */
  readonly newId: string | undefined;
}

/**
 * Runs the work of a request once for each Idempotency-Key: repeated requests get the stored response. Decision 062 in
 * docs/decisions has the reasons.
 */
export interface Idempotency {
  run(
    key: { readonly id: string; readonly fingerprint: string },
    work: (newId: string) => Promise<StoredAnswer>,
  ): Promise<StoredAnswer & { readonly replayed: boolean }>;
  /** Removes the responses of old days. Each response is kept for at least 24 and at most 48 hours. */
  sweep(): Promise<void>;
}

const PLACE = { tenant: "$idempotency", kind: "answer" } as const;
/**
 * The record of the last day whose responses were removed. With it, no day is skipped after a server was off for weeks.
 */
const SWEPT = { tenant: "$idempotency", kind: "sweep", id: "last" } as const;
const Swept = z.object({ day: z.iso.date() });
const DAY_MS = 24 * 3600 * 1000;
/** How far back the first sweep of a store goes. */
const FIRST_SWEEP_MS = 30 * DAY_MS;
/** How long a request counts as in progress after the last report of its process. */
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
  /** `process.owner` names the process, and `instance` distinguishes two servers in one process. */
  const owner = `${process?.owner ?? "?"} ${instance}`;
  const running = new Set<string>();

  /** Whether no process works on an entry. `run` has already rejected requests that are in progress in this process. */
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
        throw new ApiError("key_reused", "This Idempotency-Key was used for another request. Use a new key.");
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

  /**
   * Makes the key usable again. If the work may have had an effect, the entry keeps the new resource's id, so that a
   * repeated request creates the same resource.
   */
  async function free(id: string, entry: Entry, error: unknown): Promise<void> {
    const isRefused = error instanceof ApiError || (isKnownError(error) && error.code !== "store_unavailable");
    if (isRefused) await records.delete(PLACE.tenant, PLACE.kind, id);
    else await put(id, { ...entry, since: 0 });
  }

  /**
   * Reports regularly that this process works on the request. Stops when the response is ready or another process has
   * taken over the key. If the store is unavailable for a moment, the next report is made as usual.
   */
  function keepClaim(id: string, { entry, version: first }: Claimed): () => Promise<void> {
    let version = first;
    let saying: Promise<void> | undefined;
    const say = async (): Promise<void> => {
      try {
        version = await put(id, { ...entry, since: now() }, version);
      } catch {
        await lookAgain().catch(() => {});
      }
      saying = undefined;
    };
    // A report that failed may be stored all the same: the store may have failed between writing and answering.
    const lookAgain = async (): Promise<void> => {
      const found = await records.get(PLACE.tenant, PLACE.kind, id);
      // The process that took over the key does the same work under the same id.
      if (!found || Entry.parse(found.value).owner !== owner) clearInterval(timer);
      else version = found.version;
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
          // If the key cannot be freed, its claim expires later.
          await free(id, claimed.entry, error).catch(() => {});
          throw error;
        }
        await release();
        const { status, body, sessionId } = answer;
        // If the response cannot be stored, a repeated request does the work again under the same id.
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

/**
 * Removes the stored answers about a session that is deleted. A repeated request gets the error that the session was
 * deleted.
 */
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
  return other
    ? new ApiError("key_reused", "This Idempotency-Key was used for another request. Use a new key.")
    : busy();
}

function busy(): ApiError {
  return new ApiError(
    "in_progress",
    "Another request with this Idempotency-Key is in progress. Try again in a moment.",
    {
      headers: { "retry-after": "1" },
    },
  );
}

/**
 * Returns an id for the Idempotency-Key of this API key, and a fingerprint of the request's method, path and body.
 * Returns undefined without the header.
 */
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
