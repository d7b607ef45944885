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

/** A session while a batch of appends is decided on: what it will be if the write succeeds. */
interface Draft {
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
}

type Decision =
  | { readonly kind: "accepted" }
  /** In the log of a session already. */
  | { readonly kind: "stored"; readonly head: Head; readonly first: number; readonly last: number }
  /** The same events stand earlier in this batch. */
  | { readonly kind: "together"; readonly events: readonly Event[] };

/** Writes appends of one session that wait together: decided one after the other, one write, one sync. */
export function createCommit(deps: CommitDeps) {
  const { heads } = deps;

  return async function commit(sessionId: string, requests: readonly AppendRequest[]): Promise<void> {
    for (let rest = requests; rest.length > 0;) {
      const head = heads.find(sessionId);
      // A session begins alone: what comes next is decided on the session that is there then.
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
    const draft = draftOf(head, head && (await heads.log(head)));
    const answers: (() => Promise<void> | void)[] = [];
    for (const request of batch) {
      try {
        const decision = decide(sessionId, request, draft);
        if (decision.kind === "stored") answers.push(() => answerStored(request, decision));
        if (decision.kind === "together")
          answers.push(() => request.resolve({ events: decision.events, repeated: true }));
      } catch (error) {
        request.reject(error);
      }
    }
    if (draft.accepted.length > 0) await write(sessionId, draft);
    for (const answer of answers) await answer();
  }

  function decide(sessionId: string, request: AppendRequest, draft: Draft): Decision {
    const { events, options } = request;
    const { key, expect, lease } = options;
    const keyed = key && heads.keyed(keyText({ tenant: keyOwner(request), id: key.id }));
    if (keyed) {
      if (keyed.kept.fingerprint !== key?.fingerprint) throw keyReused(key?.id ?? "");
      return { kind: "stored", head: keyed.head, first: keyed.kept.first, last: keyed.kept.last };
    }
    const { head } = draft;
    const foreign = options.tenant !== undefined && head?.session?.tenant !== options.tenant;
    const repeated = foreign ? undefined : earlier(draft, events);
    if (repeated) return repeated;

    const begins = events[0]?.event_type === "session.created";
    if (!begins && (!head || foreign)) throw sessionNotFound(sessionId);
    if (lease && !head) throw sessionNotFound(sessionId);
    if (lease && (draft.fence !== lease.fence || draft.owner === null)) throw leaseLost(lease);
    if (begins && head) throw logMoved(sessionId, 0, draft.last);
    if (expect !== undefined && expect !== draft.last) throw logMoved(sessionId, expect, draft.last);
    accept(sessionId, request, draft);
    return { kind: "accepted" };
  }

  function accept(sessionId: string, request: AppendRequest, draft: Draft): void {
    const { lease, key, dueAt, release, claim } = request.options;
    const written = request.events.map(({ id, event_type, data }) => ({
      id,
      event_type,
      body: JSON.stringify(data),
    }));
    // What is kept is what JSON keeps, and nobody can change it from outside.
    const copies = written.map(({ id, event_type, body }) => ({ id, event_type, data: JSON.parse(body) }) as NewEvent);
    const [first, at] = [draft.last + 1, deps.now()];
    const created_at = new Date(at).toISOString();
    const events = withPlaces(sessionId, copies, { first, createdAt: created_at });
    const changes = project(events);
    checkChanges(draft.log?.tables, changes);
    for (const { user_message_uuid } of changes.checkpointInserts)
      if (draft.checkpoints.has(user_message_uuid)) throw duplicateCheckpoint(user_message_uuid);

    for (const { user_message_uuid } of changes.checkpointInserts) draft.checkpoints.add(user_message_uuid);
    for (const { id, sequence } of events) draft.ids.set(id, sequence);
    draft.last += events.length;
    if (lease) draft.leasedUntil = at + lease.leaseMs;
    if (claim) Object.assign(draft, { fence: 1, owner: claim.owner, leasedUntil: at + claim.leaseMs });
    if (dueAt !== undefined) draft.dueAt = lease ? dueAt : Math.min(draft.dueAt ?? dueAt, dueAt);
    if (release) {
      draft.fence += 1;
      draft.owner = null;
      draft.leasedUntil = 0;
      draft.dueAt = release.dueAt;
    }
    const kept = key && { tenant: keyOwner(request), id: key.id, fingerprint: key.fingerprint };
    const line = logLine({
      sequence: first,
      created_at,
      events: written,
      head: keptHead(draft),
      ...(kept && { key: kept }),
    });
    draft.accepted.push({ request, events, changes, line, key: kept && { ...kept, first, last: draft.last } });
  }

  async function write(sessionId: string, draft: Draft): Promise<void> {
    const { head, accepted } = draft;
    const bytes = Buffer.concat(accepted.map(({ line }) => line));
    try {
      await deps.appender.grow({ path: heads.path(sessionId), bytes, size: head?.bytes ?? 0 });
      if (!head) await syncNewLog(sessionId);
    } catch (error) {
      throw writeFailure(sessionId, head, error);
    }
    const events = accepted.flatMap((append) => append.events);
    const written = apply(sessionId, draft);
    deps.documents.changed(written, events);
    for (const { request, events: own } of accepted) {
      deps.followers.deliver(sessionId, own);
      request.resolve({ events: own, repeated: false });
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
      return new KnownError("store_corrupt", `There is a log of session ${sessionId} that was not there at open.`);
    return code === "ENOENT" ? sessionNotFound(sessionId) : error;
  }

  /** The write succeeded: from here on everybody sees it. */
  function apply(sessionId: string, draft: Draft): Head {
    let { log } = draft;
    let place = draft.head?.bytes ?? 0;
    for (const { events, changes, line } of draft.accepted) {
      log = grown(log, events, changes);
      log.firsts.push(events[0]?.sequence ?? 0);
      log.offsets.push(place);
      place += line.length;
    }
    if (!log) throw new Error("A commit has at least one append.");
    const { session } = log.tables;
    const changed = { session, last: draft.last, bytes: place, dueAt: draft.dueAt, kept: keptHead(draft) };
    const head =
      draft.head ??
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
    const { fence, owner } = draft;
    // A renewal may have come while the write was under way: the later of the two counts.
    const leasedUntil = owner === null ? 0 : Math.max(head.leasedUntil, draft.leasedUntil);
    heads.change(head, { ...changed, fence, owner, leasedUntil });
    for (const { key } of draft.accepted) if (key) heads.keepKey(head, key);
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

/** What an earlier append with the same ids stored, or will store with this batch. */
function earlier(draft: Draft, events: readonly NewEvent[]): Decision | undefined {
  const id = events[0]?.id ?? "";
  const stored = draft.log?.ids.get(id);
  if (stored !== undefined && draft.head)
    return { kind: "stored", head: draft.head, first: stored, last: stored + events.length - 1 };
  const first = draft.ids.get(id);
  if (first === undefined) return undefined;
  const batch = draft.accepted.flatMap((append) => append.events);
  return {
    kind: "together",
    events: batch.filter(({ sequence }) => sequence >= first && sequence < first + events.length),
  };
}

/** A key belongs to a tenant; for a new session that is the tenant it is created for. */
function keyOwner({ events, options }: AppendRequest): string | null {
  const [created] = events;
  return (created?.event_type === "session.created" ? created.data.tenant : options.tenant) ?? null;
}

function keptHead({ fence, dueAt }: Pick<Draft, "fence" | "dueAt">): LineHead {
  return { fence, due_at: dueAt };
}

function draftOf(head: Head | undefined, log: LoadedLog | undefined): Draft {
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
