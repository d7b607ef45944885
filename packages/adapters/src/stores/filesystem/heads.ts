import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Stretch, type StretchLimit, sessionNotFound, sortKey } from "@skein/core";
import { type Event, KnownError, type Session } from "@skein/protocol";
import { readBytes, withKnownErrors } from "./durable-files.ts";
import { type KeptKey, type LineHead, type LoadedLog, parsedLog, readStretch } from "./session-log.ts";

/** The state of a session's documents on disk. With this state, the store notices removed documents. */
export interface Documented {
  /** The last event that the documents show; -1 if nothing is known about them. */
  readonly sequence: number;
  /** Whether there is a document in `agent_config`. */
  readonly config: boolean;
  /**
   * When the session's folders in `conversation_history` and `agent_runs` were last changed; null for a missing folder.
   */
  readonly conversations: number | null;
  readonly runs: number | null;
  /** The value of `DOCUMENTS_VERSION` when the documents were written. */
  readonly version: number;
}

/**
 * Increase this number when the code makes other documents from the same log. All documents are then compared once, and
 * written again if they differ.
 */
export const DOCUMENTS_VERSION = 2;

export const NOT_DOCUMENTED: Documented = {
  sequence: -1,
  config: false,
  conversations: null,
  runs: null,
  version: DOCUMENTS_VERSION,
};

/** The part of a session that is known without reading its log. */
export interface Head {
  readonly id: string;
  readonly session: Session | undefined;
  readonly last: number;
  /** The end of the acknowledged part of the log, in bytes. */
  readonly bytes: number;
  readonly fence: number;
  readonly owner: string | null;
  readonly leasedUntil: number;
  readonly dueAt: number | null;
  /** The fence (the number of a lease, which only grows) and the due time as they are on disk. */
  readonly kept: LineHead;
  readonly keys: readonly KeptKey[];
  readonly damage: KnownError | undefined;
  readonly documents: Documented;
}

type Changing = { -readonly [Key in keyof Head]: Head[Key] } & { readonly keys: KeptKey[] };

export interface HeadsDeps {
  readonly folder: string;
  /** Whether a log must stay in memory because it is in use. */
  readonly pinned: (head: Head) => boolean;
  /** Called when the file of a session is missing although nobody deleted the session. */
  readonly onGone: (sessionId: string) => void;
}

/**
 * The sessions of the store. Heads are always in memory. Logs that are not in use are removed from memory above 64 MB.
 */
export interface Heads {
  all(): Iterable<Head>;
  /** The sessions that can be read, most recently created first. */
  newest(): Iterable<Session>;
  count(): number;
  has(sessionId: string): boolean;
  /** The head; undefined if the session's file is missing. */
  find(sessionId: string): Head | undefined;
  /** Returns the head. Throws `not_found`, or `store_corrupt` if the log is damaged. */
  of(sessionId: string, tenant?: string): Head;
  due(): Iterable<Head>;
  keyed(key: string): { readonly head: Head; readonly kept: KeptKey } | undefined;
  log(head: Head): Promise<LoadedLog>;
  inMemory(head: Head): LoadedLog | undefined;
  read(head: Head, after: number, limit?: number): Promise<readonly Event[]>;
  readStretch(head: Head, after: number, most: StretchLimit): Promise<Stretch>;
  add(head: Head, log?: LoadedLog): Head;
  change(head: Head, changes: Partial<Omit<Head, "keys">>): void;
  /** Keeps the idempotency key of an append to this session. */
  keepKey(head: Head, kept: KeptKey): void;
  remove(sessionId: string): void;
  path(sessionId: string): string;
}

/** The limit for the logs in memory, as their total size on disk. The least recently used log is dropped first. */
const MEMORY_LIMIT = 64 * 1024 * 1024;

export function logName(sessionId: string): string {
  return `${sessionId}.jsonl`;
}

export function keyText({ tenant, id }: Pick<KeptKey, "tenant" | "id">): string {
  return JSON.stringify([tenant, id]);
}

function ageOf({ session }: Head): string {
  return session ? sortKey(session) : "";
}

export function createHeads({ folder, pinned, onGone }: HeadsDeps): Heads {
  const heads = new Map<string, Changing>();
  const due = new Set<Head>();
  const keys = new Map<string, { readonly head: Head; readonly kept: KeptKey }>();
  const logs = new Map<Head, LoadedLog>();
  const loading = new Map<Head, Promise<LoadedLog>>();
  /** All heads, sorted by creation while `inOrder` is true. */
  const byAge: Head[] = [];
  let inOrder = true;
  let weight = 0;
  const path = (sessionId: string): string => join(folder, "log", logName(sessionId));

  function find(sessionId: string): Head | undefined {
    const head = heads.get(sessionId);
    if (!head || existsSync(path(sessionId))) return head;
    remove(sessionId);
    onGone(sessionId);
    return undefined;
  }

  function of(sessionId: string, tenant?: string): Head {
    const head = find(sessionId);
    if (!head || (tenant !== undefined && head.session?.tenant !== tenant)) throw sessionNotFound(sessionId);
    if (head.damage) throw head.damage;
    return head;
  }

  async function log(head: Head): Promise<LoadedLog> {
    if (head.damage) throw head.damage;
    const known = logs.get(head);
    if (known) {
      // The map is ordered by last use, so the log is moved to the end.
      logs.delete(head);
      logs.set(head, known);
      return known;
    }
    const asked = loading.get(head) ?? load(head).finally(() => loading.delete(head));
    loading.set(head, asked);
    return asked;
  }

  async function load(head: Head): Promise<LoadedLog> {
    const bytes = await withKnownErrors(path(head.id), () => readBytes(path(head.id))).catch(
      (error: NodeJS.ErrnoException) => {
        throw error.code === "ENOENT" ? sessionNotFound(head.id) : error;
      },
    );
    const contents = parsedLog(bytes, logName(head.id), head.id);
    if (contents.damage) throw contents.damage;
    if (!contents.log || contents.last !== head.last || contents.bytes !== head.bytes)
      throw new KnownError(
        "store_corrupt",
        `${logName(head.id)} has ${contents.last} events in ${contents.bytes} bytes instead of ${head.last} events in ${head.bytes} bytes: another program changed it.`,
      );
    keep(head, contents.log);
    return contents.log;
  }

  async function stretchOf(head: Head, after: number, most: StretchLimit): Promise<Stretch> {
    const loaded = await log(head);
    const { id, bytes, last } = head;
    const stretch = { path: path(id), name: logName(id), sessionId: id, bytes, last, after, most };
    return withKnownErrors(path(id), () => readStretch(loaded, stretch)).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "ENOENT" ? sessionNotFound(id) : error;
    });
  }

  function keep(head: Head, loaded: LoadedLog): void {
    if (heads.get(head.id) !== head) return;
    logs.set(head, loaded);
    weight += head.bytes;
    for (const oldest of logs.keys()) {
      if (weight <= MEMORY_LIMIT) return;
      if (oldest !== head && !pinned(oldest)) letGo(oldest);
    }
  }

  function letGo(head: Head): void {
    if (logs.delete(head)) weight -= head.bytes;
  }

  function change(head: Head, changes: Partial<Omit<Head, "keys">>): void {
    if (changes.bytes !== undefined && logs.has(head)) weight += changes.bytes - head.bytes;
    Object.assign(head, changes);
    if (head.dueAt === null) due.delete(head);
    else due.add(head);
  }

  function* newest(): Generator<Session> {
    if (!inOrder) byAge.sort((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
    inOrder = true;
    for (let index = byAge.length - 1; index >= 0; index -= 1) {
      const head = byAge[index];
      if (head?.session && !head.damage) yield head.session;
    }
  }

  function remove(sessionId: string): void {
    const head = heads.get(sessionId);
    if (!head) return;
    heads.delete(sessionId);
    byAge.splice(byAge.indexOf(head), 1);
    due.delete(head);
    letGo(head);
    for (const kept of head.keys) keys.delete(keyText(kept));
  }

  return {
    all: () => heads.values(),
    newest,
    count: () => heads.size,
    has: (sessionId) => heads.has(sessionId),
    find,
    of,
    due: () => due,
    keyed: (key) => keys.get(key),
    log,
    inMemory: (head) => logs.get(head),
    async read(head, after, events = Number.POSITIVE_INFINITY) {
      return (await stretchOf(head, after, { events, bytes: Number.POSITIVE_INFINITY })).events;
    },
    readStretch: stretchOf,
    add(head, loaded) {
      const own: Changing = { ...head, keys: [...head.keys] };
      heads.set(own.id, own);
      const last = byAge.at(-1);
      inOrder &&= !last || ageOf(last) < ageOf(own);
      byAge.push(own);
      change(own, {});
      for (const kept of own.keys) keys.set(keyText(kept), { head: own, kept });
      if (loaded) keep(own, loaded);
      return own;
    },
    change,
    keepKey(head, kept) {
      heads.get(head.id)?.keys.push(kept);
      keys.set(keyText(kept), { head, kept });
    },
    remove,
    path,
  };
}
