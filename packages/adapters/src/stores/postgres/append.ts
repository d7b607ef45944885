import {
  type AppendOptions,
  type Appended,
  checkAppend,
  duplicateCheckpoint,
  keyReused,
  leaseLost,
  logMoved,
  withPlaces,
  project,
  sessionNotFound,
  sessionTaken,
} from "@skein/core";
import { type Event, FACT_VERSION, KnownError, type NewEvent, Uuid } from "@skein/protocol";
import { createHash } from "node:crypto";
import { type Body, bodyOf } from "../sql/body.ts";
import { createBatchedAppends } from "./batched-appends.ts";
import { plainArray, textArray } from "./arrays.ts";
import { changeValues } from "./changes.ts";
import type { Connections } from "./connections.ts";

export interface AppendDeps {
  readonly connections: Connections;
  readonly now: () => number;
  /** Reads a range of a log, for a repeated append. */
  readonly read: (sessionId: string, first: number, last: number) => Promise<readonly Event[]>;
}

/** The largest sequence that fits into the column. */
export const LAST_SEQUENCE = 2 ** 31 - 1;

/** Longer idempotency keys are stored as a hash, because the size of an index entry is limited. */
const KEY_LIMIT = 500;

/** Appends events to a session, in one round trip. */
export function createAppend({ connections, now, read }: AppendDeps) {
  const send = createBatchedAppends(connections);
  return async (sessionId: string, newEvents: readonly NewEvent[], options: AppendOptions): Promise<Appended> => {
    if (connections.closed) throw new KnownError("closed", "The store is closed.");
    checkAppend(sessionId, newEvents, options);
    if (!Uuid.safeParse(sessionId).success) throw sessionNotFound(sessionId);
    const bodies = newEvents.map(({ data }) => bodyOf(data));
    const createdAt = new Date(now()).toISOString();
    // These numbers are relative. The database adds them to the previous numbers of the session.
    const relative = withPlaces(sessionId, copied(newEvents, bodies), { first: 1, createdAt });
    const changes = project(relative);
    refuseTwins(changes.checkpointInserts.map(({ user_message_uuid }) => user_message_uuid));

    const moved = changeValues(changes, newEvents.map(happenedAt));
    const { expect, lease, key, dueAt, release, tenant, claim } = options;
    const withBlobs = bodies.some(({ blob }) => blob !== null);
    const [created] = newEvents;
    const begins = created?.event_type === "session.created";
    const values = [
      sessionId,
      tenant ?? null,
      begins,
      createdAt,
      FACT_VERSION,
      plainArray(newEvents.map(({ id }) => id)),
      plainArray(newEvents.map(({ event_type }) => event_type)),
      plainArray(newEvents.map(({ data }) => runOf(data))),
      textArray(bodies.map(({ text, blob }) => blob?.preview ?? text)),
      withBlobs ? bodies.map(({ blob }) => blob?.hash ?? null) : null,
      withBlobs ? textArray(bodies.map(({ text, blob }) => (blob ? text : null))) : null,
      // `expect` may be too large for the column. The largest integer of the column never matches, because no log is
      // that long.
      expect === undefined ? null : Math.min(expect, LAST_SEQUENCE),
      lease?.fence ?? null,
      claim?.owner ?? null,
      (lease ?? claim)?.leaseMs ?? null,
      key ? ((begins ? created.data.tenant : tenant) ?? "") : null,
      key ? keyText(key.id) : null,
      key?.fingerprint ?? null,
      dueAt ?? null,
      release !== undefined,
      release?.dueAt ?? null,
      moved.entered,
      moved.started,
      moved.step,
      moved.container,
      moved.knownInput,
      moved.knownOutput,
      moved.add,
      ...moved.rows,
      moved.json,
    ];
    const alone = key !== undefined || withBlobs;
    const [code, where = sessionId, first, last, fence] = (await send({ sessionId, values, alone })).split(" ");
    switch (code) {
      case "written":
        return {
          events: relative.map((event) => ({ ...event, sequence: Number(first) - 1 + event.sequence })),
          repeated: false,
          ...(claim && { fence: Number(fence) }),
        };
      case "repeated":
        return { events: await read(where, Number(first), Number(last)), repeated: true };
      case "key_reused":
        throw keyReused(key?.id ?? "");
      case "lease_lost":
        throw lease ? leaseLost(lease) : sessionNotFound(sessionId);
      case "conflict":
        throw logMoved(sessionId, expect ?? Number(first), Number(last));
      case "taken":
        throw sessionTaken(sessionId);
      case "already_exists":
        throw duplicateCheckpoint(changes.checkpointInserts[0]?.user_message_uuid ?? "");
      case "not_found":
        throw sessionNotFound(sessionId);
      default:
        throw new Error(`skein.append answered ${code}.`);
    }
  };
}

/** Copies the events as JSON, so that they equal the events that are read from the store later. */
function copied(events: readonly NewEvent[], bodies: readonly Body[]): readonly NewEvent[] {
  return events.map((event, index) => ({ ...event, data: JSON.parse(bodies[index]?.text ?? "null") }));
}

function runOf(data: unknown): string | null {
  const runId = (data as { readonly run_id?: unknown } | null)?.run_id;
  return typeof runId === "string" && Uuid.safeParse(runId).success ? runId : null;
}

function happenedAt({ data }: NewEvent): string | null {
  return ("happened_at" in data && data.happened_at) || null;
}

function refuseTwins(userMessages: readonly string[]): void {
  const twin = userMessages.find((message, index) => userMessages.indexOf(message) !== index);
  if (twin !== undefined) throw duplicateCheckpoint(twin);
}

function keyText(id: string): string {
  return id.length <= KEY_LIMIT && id.isWellFormed() && !id.includes("\0")
    ? id
    : `sha256:${createHash("sha256").update(id).digest("hex")}`;
}
