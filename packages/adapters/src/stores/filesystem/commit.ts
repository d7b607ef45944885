import {
  type AppendOptions,
  type Appended,
  type Changes,
  type Followers,
  checkChanges,
  duplicateCheckpoint,
  keyReused,
  leaseLost,
  logMoved,
  withPlaces,
  project,
  sessionNotFound,
  sessionTaken,
} from "@skein/core";
import { type Event, KnownError, type NewEvent } from "@skein/protocol";
import { type Appender, storeError } from "./durable-files.ts";
import type { DocumentFolders } from "./document-folders.ts";
import { type Head, type Heads, NOT_DOCUMENTED, keyText } from "./heads.ts";
import { type KeptKey, type LineHead, type LoadedLog, grown, logLine } from "./session-log.ts";

export interface AppendRequest {
  readonly events: readonly NewEvent[];
  readonly options: AppendOptions;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

export interface CommitDeps {
  readonly heads: Heads;
  readonly appender: Appender;
  readonly syncLogs: () => Promise<void>;
  readonly removeLog: (sessionId: string) => void;
  readonly followers: Followers;
  readonly documents: DocumentFolders;
  readonly now: () => number;
}

/** The state of a session if the write of a batch succeeds. The batch's appends are checked against this state. */
interface PendingCommit {
  readonly head: Head | undefined;
  readonly log: LoadedLog | undefined;
  last: number;
  fence: number;
  owner: string | null;
  leasedUntil: number;
  dueAt: number | null;
  readonly ids: Map<string, number>;
  readonly checkpoints: Set<string>;
  readonly accepted: Accepted[];
}

interface Accepted {
  readonly request: AppendRequest;
  readonly events: readonly Event[];
  readonly changes: Changes;
  readonly line: Buffer;
  readonly key: KeptKey | undefined;
  /** The fence, if the append took a lease. */
  readonly fence?: number;
}

type Decision =
  | { readonly kind: "accepted" }
  /** The log already has the events. */
  | { readonly kind: "stored"; readonly head: Head; readonly first: number; readonly last: number }
  /** An earlier append of this batch has the same events. */
  | { readonly kind: "together"; readonly events: readonly Event[] };

/** Checks the waiting appends of a session in their order. Stores them with one write and one sync. */
export function createCommit(deps: CommitDeps) {
  const { heads } = deps;

  return async function commit(sessionId: string, requests: readonly AppendRequest[]): Promise<void> {
    for (let rest = requests; rest.length > 0;) {
      const head = heads.find(sessionId);
      // The append that creates a session is written first. Later appends are then checked against the new session.
      const batch = head ? rest : rest.slice(0, 1);
      rest = rest.slice(batch.length);
      try {
        await commitBatch(sessionId, head, batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
  };

  async function commitBatch(
    sessionId: string,
    head: Head | undefined,
    batch: readonly AppendRequest[],
  ): Promise<void> {
    const pending = draftOf(head, head && (await heads.log(head)));
    const answers: (() => Promise<void> | void)[] = [];
    for (const request of batch) {
      try {
        const decision = decide(sessionId, request, pending);
        if (decision.kind === "stored") answers.push(() => answerStored(request, decision));
        if (decision.kind === "together")
          answers.push(() => request.resolve({ events: decision.events, repeated: true }));
      } catch (error) {
        request.reject(error);
      }
    }
    if (pending.accepted.length > 0) await write(sessionId, pending);
    for (const answer of answers) await answer();
  }

  function decide(sessionId: string, request: AppendRequest, pending: PendingCommit): Decision {
    const { events, options } = request;
    const { key, expect, lease, claim } = options;
    const keyed = key && heads.keyed(keyText({ tenant: keyOwner(request), id: key.id }));
    if (keyed) {
      if (keyed.kept.fingerprint !== key?.fingerprint) throw keyReused(key?.id ?? "");
      return { kind: "stored", head: keyed.head, first: keyed.kept.first, last: keyed.kept.last };
    }
    const { head } = pending;
    const foreign = options.tenant !== undefined && head?.session?.tenant !== options.tenant;
    const repeated = foreign ? undefined : earlier(pending, events);
    if (repeated) return repeated;

    const begins = events[0]?.event_type === "session.created";
    if (!begins && (!head || foreign)) throw sessionNotFound(sessionId);
    if (lease && !head) throw sessionNotFound(sessionId);
    if (lease && (pending.fence !== lease.fence || pending.owner === null)) throw leaseLost(lease);
    if (begins && head) throw logMoved(sessionId, 0, pending.last);
    if (expect !== undefined && expect !== pending.last) throw logMoved(sessionId, expect, pending.last);
    if (claim && pending.leasedUntil > deps.now()) throw sessionTaken(sessionId);
    accept(sessionId, request, pending);
    return { kind: "accepted" };
  }

  function accept(sessionId: string, request: AppendRequest, pending: PendingCommit): void {
    const { lease, key, dueAt, release, claim } = request.options;
    const written = request.events.map(({ id, event_type, data }) => ({
      id,
      event_type,
      body: JSON.stringify(data),
    }));
    // The stored events are copies, so that callers cannot change them.
    const copies = written.map(({ id, event_type, body }) => ({ id, event_type, data: JSON.parse(body) }) as NewEvent);
    const [first, at] = [pending.last + 1, deps.now()];
    const created_at = new Date(at).toISOString();
    const events = withPlaces(sessionId, copies, { first, createdAt: created_at });
    const changes = project(events);
    checkChanges(pending.log?.tables, changes);
    for (const { user_message_uuid } of changes.checkpointInserts)
      if (pending.checkpoints.has(user_message_uuid)) throw duplicateCheckpoint(user_message_uuid);

    for (const { user_message_uuid } of changes.checkpointInserts) pending.checkpoints.add(user_message_uuid);
    for (const { id, sequence } of events) pending.ids.set(id, sequence);
    pending.last += events.length;
    if (lease) pending.leasedUntil = at + lease.leaseMs;
    if (claim)
      Object.assign(pending, { fence: pending.fence + 1, owner: claim.owner, leasedUntil: at + claim.leaseMs });
    const { fence } = pending;
    if (dueAt !== undefined) pending.dueAt = lease ? dueAt : Math.min(pending.dueAt ?? dueAt, dueAt);
    if (release) {
      pending.fence += 1;
      pending.owner = null;
      pending.leasedUntil = 0;
      pending.dueAt = release.dueAt;
    }
    const kept = key && { tenant: keyOwner(request), id: key.id, fingerprint: key.fingerprint };
    const line = logLine({
      sequence: first,
      created_at,
      events: written,
      head: keptHead(pending),
      ...(kept && { key: kept }),
    });
    pending.accepted.push({
      request,
      events,
      changes,
      line,
      key: kept && { ...kept, first, last: pending.last },
      ...(claim && { fence }),
    });
  }

  async function write(sessionId: string, pending: PendingCommit): Promise<void> {
    const { head, accepted } = pending;
    const bytes = Buffer.concat(accepted.map(({ line }) => line));
    try {
      await deps.appender.grow({ path: heads.path(sessionId), bytes, size: head?.bytes ?? 0 });
      if (!head) await syncNewLog(sessionId);
    } catch (error) {
      throw writeFailure(sessionId, head, error);
    }
    const events = accepted.flatMap((append) => append.events);
    const written = apply(sessionId, pending);
    deps.documents.changed(written, events);
    for (const { request, events: own, fence } of accepted) {
      deps.followers.deliver(sessionId, own);
      request.resolve({ events: own, repeated: false, ...(fence !== undefined && { fence }) });
    }
  }

  async function syncNewLog(sessionId: string): Promise<void> {
    try {
      await deps.syncLogs();
    } catch (error) {
      deps.removeLog(sessionId);
      throw storeError(error, heads.path(sessionId));
    }
  }

  function writeFailure(sessionId: string, head: Head | undefined, error: unknown): unknown {
    const { code } = error as NodeJS.ErrnoException;
    if (!head && code === "EEXIST")
      return new KnownError(
        "store_corrupt",
        `The log of session ${sessionId} exists already, but did not exist when the store was opened: another program created it.`,
      );
    return code === "ENOENT" ? sessionNotFound(sessionId) : error;
  }

  /** Applies a successful write. All readers see its events after this call. */
  function apply(sessionId: string, pending: PendingCommit): Head {
    let { log } = pending;
    let place = pending.head?.bytes ?? 0;
    for (const { events, changes, line } of pending.accepted) {
      log = grown(log, events, changes);
      log.firsts.push(events[0]?.sequence ?? 0);
      log.offsets.push(place);
      place += line.length;
    }
    if (!log) throw new Error("A commit has at least one append.");
    const { session } = log.tables;
    const changed = { session, last: pending.last, bytes: place, dueAt: pending.dueAt, kept: keptHead(pending) };
    const head =
      pending.head ??
      heads.add(
        {
          id: sessionId,
          ...changed,
          fence: 0,
          owner: null,
          leasedUntil: 0,
          keys: [],
          damage: undefined,
          documents: NOT_DOCUMENTED,
        },
        log,
      );
    const { fence, owner } = pending;
    // The lease may have been renewed during the write. The later time counts.
    const leasedUntil = owner === null ? 0 : Math.max(head.leasedUntil, pending.leasedUntil);
    heads.change(head, { ...changed, fence, owner, leasedUntil });
    for (const { key } of pending.accepted) if (key) heads.keepKey(head, key);
    return head;
  }

  async function answerStored(
    { resolve, reject }: AppendRequest,
    { head, first, last }: Extract<Decision, { kind: "stored" }>,
  ): Promise<void> {
    try {
      resolve({ events: await heads.read(head, first - 1, last - first + 1), repeated: true });
    } catch (error) {
      reject(error);
    }
  }
}

/** Returns the earlier append with the same event ids, from the log or from this batch. */
function earlier(pending: PendingCommit, events: readonly NewEvent[]): Decision | undefined {
  const id = events[0]?.id ?? "";
  const stored = pending.log?.ids.get(id);
  if (stored !== undefined && pending.head)
    return { kind: "stored", head: pending.head, first: stored, last: stored + events.length - 1 };
  const first = pending.ids.get(id);
  if (first === undefined) return undefined;
  const batch = pending.accepted.flatMap((append) => append.events);
  return {
    kind: "together",
    events: batch.filter(({ sequence }) => sequence >= first && sequence < first + events.length),
  };
}

/** Returns the tenant of an append's idempotency key. If the append creates a session, returns the session's tenant. */
function keyOwner({ events, options }: AppendRequest): string | null {
  const [created] = events;
  return (created?.event_type === "session.created" ? created.data.tenant : options.tenant) ?? null;
}

function keptHead({ fence, dueAt }: Pick<PendingCommit, "fence" | "dueAt">): LineHead {
  return { fence, due_at: dueAt };
}

function draftOf(head: Head | undefined, log: LoadedLog | undefined): PendingCommit {
  return {
    head,
    log,
    last: head?.last ?? 0,
    fence: head?.fence ?? 0,
    owner: head?.owner ?? null,
    leasedUntil: head?.leasedUntil ?? 0,
    dueAt: head?.dueAt ?? null,
    ids: new Map(),
    checkpoints: new Set(),
    accepted: [],
  };
}
