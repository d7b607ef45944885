import {
  type Checkpoint,
  type Event,
  type Fact,
  type Ids,
  KnownError,
  Line,
  type NewEvent,
  type Session,
  isKnownError,
} from "@skein/protocol";
import type { SessionState } from "../log/state.ts";
import type { AppendOptions, Store } from "../ports/store.ts";
import { derivedId } from "./derived-id.ts";
import { parseInput } from "./parse-input.ts";
import { cancelRequested, controlRequested, rewindRequested } from "./session-facts.ts";

/**
 * A stored request. `id` is the id of the run to cancel, or of the rewind. The result appears after the event
 * `sequence`.
 */
interface Asked {
  readonly id: string;
  readonly sequence: number;
}

export type Key = NonNullable<AppendOptions["key"]>;

/** Requests to the process that runs a session. With an idempotency key, a repeated request appends only one event. */
export interface DriverRequests {
  /** Requests the cancellation of a run. Without `runId`, this is the run in progress, or else the next run. */
  cancel(sessionId: string, options?: { runId?: string; reason?: string }, key?: Key): Promise<Asked>;
  /** Sets the model or the permission mode of a session, including a run in progress. */
  control(sessionId: string, change: { permissionMode?: string; model?: string }, key?: Key): Promise<Event>;
  /** Requests that the files are restored. The event `rewind.completed` with the same id has the result. */
  rewind(sessionId: string, checkpoint: Checkpoint, options?: { dryRun?: boolean }, key?: Key): Promise<Asked>;
}

export interface DriverRequestsDeps {
  readonly store: Store;
  readonly tenant: string;
  readonly now: () => number;
  readonly ids: Ids;
  readonly get: (sessionId: string) => Promise<Session>;
  readonly state: (sessionId: string) => Promise<SessionState>;
}

export function createDriverRequests({ store, tenant, now, ids, get, state }: DriverRequestsDeps): DriverRequests {
  async function append(sessionId: string, fact: Fact, key: Key | undefined): Promise<Event> {
    // The event id is derived from the idempotency key, so that a repeated request has the same event id.
    const event = { ...fact, id: key ? requestId(key) : ids() } as NewEvent;
    const { events } = await store.append(sessionId, [event], { tenant, dueAt: now() });
    return events[0] as Event;
  }

  async function target(sessionId: string, runId: string | undefined): Promise<string> {
    const running = (await get(sessionId)).run_id;
    const isUnderWay = running !== null && (runId === undefined || runId === running);
    return isUnderWay ? running : waitingRun(await state(sessionId), runId);
  }

  /**
   * Returns the earlier cancel with this idempotency key. The process that stored the cancel may have died, and the run
   * may have ended since.
   */
  async function cancelledBefore(sessionId: string, key: Key): Promise<Asked | undefined> {
    const found = (await store.read(sessionId, { tenant })).find(({ id }) => id === requestId(key));
    return found && askedBy(found);
  }

  return {
    async cancel(sessionId, { runId, reason } = {}, key) {
      try {
        const run = await target(sessionId, runId);
        return askedBy(await append(sessionId, cancelRequested(run, reason ?? null), key));
      } catch (error) {
        const before = key && isKnownError(error, "not_running") ? await cancelledBefore(sessionId, key) : undefined;
        if (before) return before;
        throw error;
      }
    },
    control(sessionId, { permissionMode, model }, key) {
      const data = {
        permission_mode: permissionMode ?? null,
        model: parseInput(Line.max(100).nullable(), model ?? null),
      };
      return append(sessionId, controlRequested(data), key);
    },
    async rewind(sessionId, { id: checkpoint_id, user_message_uuid }, { dryRun = false } = {}, key) {
      const id = key ? derivedId("rewind", key.id) : ids();
      const data = { rewind_id: id, checkpoint_id, user_message_uuid, dry_run: dryRun };
      const { sequence } = await append(sessionId, rewindRequested(data), key);
      return { id, sequence };
    },
  };
}

function requestId(key: Key): string {
  return derivedId("request", key.id);
}

function askedBy(event: Event): Asked {
  return { id: event.event_type === "cancel.requested" ? event.data.run_id : event.id, sequence: event.sequence };
}

/** Returns the id of the named run, or of the run in progress, or of the next run. Rejects a run that has ended. */
function waitingRun({ sessionId, run, queue }: SessionState, runId: string | undefined): string {
  const known = [...(run ? [run.runId] : []), ...queue.map((prompt) => prompt.run_id)];
  const target = runId ?? known[0];
  if (target === undefined)
    throw new KnownError("not_running", `Session ${sessionId} has no run that could be cancelled.`);
  if (!known.includes(target))
    throw new KnownError("not_running", `Run ${target} of session ${sessionId} is neither running nor queued.`);
  return target;
}
