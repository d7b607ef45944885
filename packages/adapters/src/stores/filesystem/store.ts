import { checkRoom } from "../disk-room.ts";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type AppendOptions,
  type Appended,
  type Store,
  checkAppend,
  createFollowers,
  addedUsage,
  countedTools,
  pageOfMessages,
  pageOfRuns,
} from "@skein/core";
import { KnownError, type NewEvent, type Session, isKeptUuid } from "@skein/protocol";
import { type AppendRequest, createCommit } from "./commit.ts";
import { createDocumentFolders } from "./document-folders.ts";
import { createAppender, createFolderSync, makeFolder, removeEntry, withKnownErrors } from "./durable-files.ts";
import { createHeadIndex } from "./head-index.ts";
import { type Head, createHeads, keyText } from "./heads.ts";
import { createSessionQueues } from "./session-queues.ts";
import { createLeases } from "./leases.ts";
import { openHeads } from "./open-heads.ts";
import { type ProcessLock, type Processes, lockFolder } from "./process-lock.ts";
import { openRecords } from "./record-file.ts";
import { createSnapshots } from "./snapshots.ts";
import { createTenantLists } from "./tenant-lists.ts";
import { openFolder } from "./version-file.ts";

export interface FilesystemStoreDeps {
  /** The folder is created if it does not exist. An existing folder must be empty or a store. */
  readonly folder: string;
  readonly now?: () => number;
  /** Checks whether the process that has the lock of the folder is still running. */
  readonly processes?: Processes;
}

export interface FilesystemStore extends Store {
  /** Resolves when the documents of the agent tables show everything that was appended before the call. */
  settled(): Promise<void>;
}

/** How long opening and closing wait for documents that are missing or out of date, in ms. */
const DOCUMENTS_AT_OPEN = 1000;
const DOCUMENTS_AT_CLOSE = 5000;

/**
 * A store of files that people can read and compare. One process at a time may use the folder.
 *
 * | in the folder | what it is |
 * |---|---|
 * | `log/{session}.jsonl` | the logs: one line per append, synced before the append is answered |
 * | `records/records.jsonl` | stored data that is not a session, written in the same way |
 * | `agent_config/`, `conversation_history/`, `agent_runs/` | the agent tables as documents, derived from the logs and written after them |
 * | `heads.jsonl`, `snapshots/` | derived, to save time; may be deleted |
 * | `lock/`, `version` | which process uses the folder, and the version of the folder's format |
 *
 * A last line without its newline, or with zero bytes, was never acknowledged and is cut off at open. If any other line
 * does not match its checksum, only its session is `store_corrupt`. A folder that is not empty and has no `version` is
 * rejected, because documents without a log are removed at open. Known limit: processes in different containers or on
 * different machines do not see each other's lock, so a folder must not be shared that way.
 */
export async function createFilesystemStore(deps: FilesystemStoreDeps): Promise<FilesystemStore> {
  const folder = resolve(deps.folder);
  return withKnownErrors(folder, async () => {
    makeFolder(folder);
    const lock = await lockFolder(folder, deps.processes);
    try {
      await openFolder(folder);
      return await openStore(folder, lock, deps.now ?? Date.now);
    } catch (error) {
      await lock.release().catch(() => {});
      throw error;
    }
  });
}

async function openStore(folder: string, lock: ProcessLock, now: () => number): Promise<FilesystemStore> {
  let closed = false;
  const appender = createAppender();
  const snapshots = createSnapshots(folder);
  const heads = createHeads({
    folder,
    pinned: (head) => queues.busy(head.id) || documents.waiting(head),
    onGone: (sessionId) => void forget(sessionId).catch(() => {}),
  });
  const index = createHeadIndex(folder, heads);
  const alone = <Result>(sessionId: string, work: () => Result | Promise<Result>): Promise<Result> =>
    queues.alone(sessionId, work);
  const documents = createDocumentFolders({ folder, heads, alone, onWritten: (changed) => index.add(changed) });
  const followers = createFollowers({
    read: async (id, after, most) => heads.readStretch(openHead(id), after, most),
  });
  const syncLogs = createFolderSync(join(folder, "log"));
  const removeLog = (sessionId: string): void => removeEntry(heads.path(sessionId));
  const queues = createSessionQueues<AppendRequest>(
    createCommit({ heads, appender, syncLogs, removeLog, followers, documents, now }),
  );
  const leases = createLeases({ heads, appender, documents, alone, now });
  const keyed = new Map<string, Promise<unknown>>();

  function checkOpen(): void {
    if (closed) throw new KnownError("closed", "The store is closed.");
  }

  function openHead(sessionId: string, tenant?: string): Head {
    checkOpen();
    return heads.of(sessionId, tenant);
  }

  async function append(
    sessionId: string,
    events: readonly NewEvent[],
    options: AppendOptions = {},
  ): Promise<Appended> {
    checkOpen();
    checkAppend(sessionId, events, options);
    const [first] = events;
    // The id becomes a file name, so it is checked.
    if (first?.event_type === "session.created" && !isKeptUuid(sessionId))
      throw new KnownError("invalid", `"${sessionId.slice(0, 60)}" is not a UUID in lower case.`);
    const write = (): Promise<Appended> =>
      new Promise((resolve, reject) => queues.append(sessionId, { events, options, resolve, reject }));
    if (!options.key) return write();
    const owner = first?.event_type === "session.created" ? first.data.tenant : options.tenant;
    return oneByOne(keyText({ tenant: owner ?? null, id: options.key.id }), write);
  }

  /** Runs appends with the same idempotency key one after another, even if they are for different sessions. */
  async function oneByOne<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = keyed.get(key);
    const mine = before ? before.then(work, work) : work();
    keyed.set(key, mine);
    try {
      return await mine;
    } finally {
      if (keyed.get(key) === mine) keyed.delete(key);
    }
  }

  async function forget(sessionId: string): Promise<void> {
    index.forget(sessionId);
    followers.end(sessionId);
    snapshots.remove(sessionId);
    await documents.remove(sessionId);
  }

  async function close(): Promise<void> {
    if (closed) return;
    closed = true;
    followers.close();
    await queues.idle();
    // Errors are ignored. Documents that are not written here are written at open.
    await leases.keepFences().catch(() => {});
    await atMost(DOCUMENTS_AT_CLOSE, documents.settle());
    await documents.stop();
    await lock.release().catch(() => {});
  }

  await openHeads({ folder, heads, index, trustIndex: !lock.afterPowerCut });
  const records = await openRecords({ folder, appender, now, checkOpen });
  documents.check();
  // Usually few documents are missing. If all documents of a large store are missing, opening the store does not wait
  // for them.
  await atMost(DOCUMENTS_AT_OPEN, documents.settle());

  const store: FilesystemStore = {
    append,
    read: async (sessionId, { tenant, after = 0, limit } = {}) => heads.read(openHead(sessionId, tenant), after, limit),
    async *follow(sessionId, { tenant, after = 0, onCaughtUp }, signal) {
      openHead(sessionId, tenant);
      yield* followers.follow(sessionId, { after, onCaughtUp }, signal);
    },
    async *scan(after) {
      checkOpen();
      const ids = [...heads.all()].map(({ id }) => id).sort();
      for (const id of ids) {
        if ((after && id < after.sessionId) || !heads.find(id)) continue;
        yield* await heads.read(openHead(id), after?.sessionId === id ? after.sequence : 0);
      }
    },

    claim: async (options) => (checkOpen(), leases.claim(options)),
    due: async (query) => (checkOpen(), leases.due(query)),
    renew: async (held) => (checkOpen(), leases.renew(held)),
    release: async (lease, next) => (checkOpen(), leases.release(lease, next)),
    owners: async (sessionId) => (checkOpen(), leases.owners(sessionId)),
    free: async (owner, options) => (checkOpen(), leases.free(owner, options)),
    onNews: (listener) => followers.onNews(listener),
    poke: (sessionId) => followers.poke(sessionId),

    async get(sessionId, { tenant } = {}): Promise<Session | undefined> {
      checkOpen();
      const head = heads.find(sessionId);
      if (!head || (tenant !== undefined && head.session?.tenant !== tenant)) return undefined;
      return openHead(sessionId).session;
    },
    ...createTenantLists({ heads, checkOpen }),
    usage: (query) => addedUsage(store, query),
    toolUsage: (query) => countedTools(store, query),
    messages: async (sessionId, options = {}) =>
      pageOfMessages((await heads.log(openHead(sessionId, options.tenant))).tables, options),
    runs: async (sessionId, options = {}) =>
      pageOfRuns((await heads.log(openHead(sessionId, options.tenant))).tables, options),
    async awaits(sessionId, { tenant } = {}) {
      const { tables } = await heads.log(openHead(sessionId, tenant));
      return tables.awaits.filter(({ closed_at }) => closed_at === null);
    },
    checkpoints: async (sessionId, { tenant } = {}) =>
      (await heads.log(openHead(sessionId, tenant))).tables.checkpoints,

    async readSnapshot(sessionId) {
      checkOpen();
      return heads.find(sessionId) && snapshots.read(sessionId);
    },
    writeSnapshot: async (sessionId, snapshot) => snapshots.write(openHead(sessionId).id, snapshot),

    async delete(sessionId, { tenant } = {}) {
      checkOpen();
      await queues.alone(sessionId, async () => {
        checkOpen();
        const head = heads.find(sessionId);
        // A damaged session can be deleted, although its log cannot be read. Only its tenant is compared.
        if (!head?.damage || (tenant !== undefined && head.session?.tenant !== tenant)) openHead(sessionId, tenant);
        await withKnownErrors(heads.path(sessionId), async () => {
          removeLog(sessionId);
          await syncLogs();
        });
        heads.remove(sessionId);
      });
      await forget(sessionId);
    },

    check: () => withKnownErrors(folder, () => checkRoom(folder)),
    records,
    async settled() {
      checkOpen();
      await queues.idle();
      await documents.settle();
    },
    close,
  };
  return store;
}

/** Waits for work that may fail, and continues without it after a time limit. */
async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  const late = sleep(ms, undefined, { signal: over.signal }).catch(() => {});
  await Promise.race([work.catch(() => {}), late]);
  over.abort();
}
