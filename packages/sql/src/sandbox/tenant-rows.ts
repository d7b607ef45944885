/**
 * Keeps a database with the rows of one tenant for queries in the sandbox.
 *
 * The rows are read through the interface of all stores, so any store works and the sandbox needs no connection. Before
 * a query runs, the sessions that changed since the last query are copied again. So the query sees all earlier writes.
 */
import { createHash } from "node:crypto";
import { type FileHandle, mkdtemp, open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Page, Store } from "@skein/core";
import { type Event, type Session, isKnownError } from "@skein/protocol";
import { wellFormed } from "../database/load-rows.ts";
import { addRecords, addSession } from "../platform/session-rows.ts";
import type { PlatformRow, PlatformTable } from "../tables/platform-tables.ts";
import type { DatabaseWriter, RowsFile } from "./database-writer.ts";

/** The column with the session's id in each table. Null for tables without sessions. */
const SESSION_COLUMNS: Readonly<Record<PlatformTable, string | null>> = {
  "platform.agents": null,
  "platform.llm_models": null,
  "skein.audit": null,
  "platform.sessions": "id",
  "platform.messages": "session_id",
  "platform.events": "session_id",
  "agent.conversation_history": "agent_uuid",
  "agent.agent_config": "agent_uuid",
  "skein.actions": "agent_uuid",
  "skein.transcripts": "session_id",
  "api.sessions": "id",
  "api.session_messages": "session_id",
  "api.checkpoints": "session_id",
  "skein.runs": "session_id",
};
const TABLES = Object.keys(SESSION_COLUMNS) as PlatformTable[];

/**
 * The age in milliseconds below which a session is young. A session may change twice in one millisecond. So the log of
 * a young session is searched for new events even if its entry in the list is unchanged.
 */
const YOUNG_MS = 10_000;
/**
 * The unused space that a database may always have. Replaced rows leave unused space. A database is rewritten if it is
 * larger than twice its compact size plus this number.
 */
const HOLES_BYTES = 16 * 1024 * 1024;
const EVENTS_AT_ONCE = 1000;

/** A database with the current rows of a tenant. */
export interface TenantRows {
  /** Updates the database and returns its path. The file exists until the next call. */
  current(): Promise<string>;
  /** Removes the files after the last refresh. Not called before the last `current`. */
  remove(): Promise<void>;
}

interface Seen {
  readonly fingerprint: string;
  readonly sequence: number;
}

export interface TenantRowsOptions {
  readonly store: Store;
  readonly tenant: string;
  /**
   * The folder of all tenants. The files of a tenant are in a new folder inside it. So a tenant that is kept again does
   * not use the folder that is being removed.
   */
  readonly folder: string;
  readonly writer: DatabaseWriter;
  readonly now: () => number;
}

export function createTenantRows({ store, tenant, folder, writer, now }: TenantRowsOptions): TenantRows {
  let own: string | undefined;
  let seen = new Map<string, Seen>();
  let records = "";
  let database: { readonly file: string; readonly bytes: number; readonly compactBytes: number } | undefined;
  let count = 0;
  let running: Promise<string> | undefined;
  let next: Promise<string> | undefined;

  async function refreshed(): Promise<string> {
    own ??= await mkdtemp(join(folder, "rows-"));
    const delta = await createDelta(await mkdtemp(join(own, "delta-")));
    try {
      const after = await changes(delta);
      const recordsNow = await addRecordRows(delta);
      if (database && after.changed === 0 && recordsNow === records) return database.file;
      const { gone, files } = await delta.finished();
      count += 1;
      const to = join(own, `rows-${count}.duckdb`);
      const old = database;
      const compact = !!old && (after.hasDeleted || old.bytes > 2 * old.compactBytes + HOLES_BYTES);
      await writer.write({
        kind: "rows",
        folder,
        from: old?.file ?? null,
        to,
        gone,
        compact,
        tables: TABLES.map((table) => ({
          table,
          sessionColumn: SESSION_COLUMNS[table],
          rows: files.get(table) ?? null,
        })),
      });
      const { size } = await stat(to);
      database = { file: to, bytes: size, compactBytes: compact ? size : (old?.compactBytes ?? size) };
      seen = after.seen;
      records = recordsNow;
      if (old) await rm(old.file, { force: true });
      return to;
    } finally {
      await delta.remove();
    }
  }

  /** Writes the rows of changed sessions, and lists the sessions whose old rows must be removed. */
  async function changes(delta: Delta): Promise<{
    readonly seen: Map<string, Seen>;
    readonly changed: number;
    readonly hasDeleted: boolean;
  }> {
    const after = new Map<string, Seen>();
    let changed = 0;
    let hasDeleted = false;
    for await (const session of sessions()) {
      const before = seen.get(session.id);
      const fingerprint = fingerprintOf(session);
      if (before?.fingerprint === fingerprint && !(await hasGrown(session, before.sequence))) {
        after.set(session.id, before);
        continue;
      }
      changed += 1;
      await delta.gone(session.id);
      const events = await eventsOf(session.id);
      if (!events) continue;
      await addSession(store, { session, events }, delta.add);
      after.set(session.id, { fingerprint, sequence: events.at(-1)?.sequence ?? 0 });
    }
    for (const id of seen.keys()) {
      if (after.has(id)) continue;
      changed += 1;
      hasDeleted = true;
      await delta.gone(id);
    }
    return { seen: after, changed, hasDeleted };
  }

  async function* sessions(): AsyncGenerator<Session> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: Page<Session> = await store.list({ tenant, limit: 200, ...(cursor !== undefined && { cursor }) });
      yield* page.items;
      ({ cursor } = page);
    }
  }

  async function hasGrown({ id, updated_at }: Session, sequence: number): Promise<boolean> {
    if (now() - Date.parse(updated_at) > YOUNG_MS) return false;
    return (await eventsOf(id, sequence))?.length !== 0;
  }

  /** Reads the events of a session. Returns undefined if the session is deleted. */
  async function eventsOf(id: string, after = 0): Promise<readonly Event[] | undefined> {
    const events: Event[] = [];
    try {
      for (;;) {
        const page = await store.read(id, { tenant, after: events.at(-1)?.sequence ?? after, limit: EVENTS_AT_ONCE });
        events.push(...page);
        if (page.length < EVENTS_AT_ONCE) return events;
      }
    } catch (error) {
      if (isKnownError(error, "not_found")) return undefined;
      throw error;
    }
  }

  /**
   * Writes all agents, models and audit rows each time, because they are few. Returns a hash that changes if a row
   * changes.
   */
  async function addRecordRows(delta: Delta): Promise<string> {
    const hash = createHash("sha256");
    await addRecords(store, tenant, async (table, rows) => {
      hash.update(JSON.stringify([table, rows]));
      await delta.add(table, rows);
    });
    return hash.digest("base64url");
  }

  function begin(): Promise<string> {
    running = refreshed().finally(() => {
      if (!next) running = undefined;
    });
    return running;
  }

  return {
    current() {
      if (!running) return begin();
      // The refresh in progress may miss what this caller has just written, so another refresh follows.
      const again = (): Promise<string> => {
        next = undefined;
        return begin();
      };
      next ??= running.then(again, again);
      return next;
    },
    async remove() {
      // Callers may wait for both.
      await Promise.allSettled([running, next]);
      if (own !== undefined) await rm(own, { recursive: true, force: true });
    },
  };
}

function fingerprintOf(session: Session): string {
  return createHash("sha256").update(JSON.stringify(session)).digest("base64url").slice(0, 22);
}

/** Collects rows for the database writer in one file of JSON lines for each table. */
interface Delta {
  add(table: PlatformTable, rows: readonly PlatformRow[]): Promise<void>;
  gone(sessionId: string): Promise<void>;
  finished(): Promise<{ readonly gone: RowsFile; readonly files: ReadonlyMap<PlatformTable, RowsFile> }>;
  remove(): Promise<void>;
}

async function createDelta(folder: string): Promise<Delta> {
  const files = new Map<string, { readonly handle: FileHandle; readonly file: string; longest: number }>();

  async function append(name: string, rows: readonly unknown[]): Promise<void> {
    let target = files.get(name);
    if (!target) {
      const file = join(folder, `${name}.jsonl`);
      target = { handle: await open(file, "w", 0o600), file, longest: 0 };
      files.set(name, target);
    }
    const lines = rows.map((row) => `${JSON.stringify(wellFormed(row))}\n`);
    for (const line of lines) target.longest = Math.max(target.longest, Buffer.byteLength(line));
    await target.handle.appendFile(lines.join(""));
  }

  return {
    add: async (table, rows) => (rows.length === 0 ? undefined : append(table, rows)),
    gone: (id) => append("gone", [{ id }]),
    async finished() {
      await append("gone", []);
      for (const { handle } of files.values()) await handle.close();
      const { gone, ...tables } = Object.fromEntries(
        [...files].map(([name, { file, longest }]) => [name, { file, longest }]),
      );
      return { gone: gone as RowsFile, files: new Map(Object.entries(tables) as [PlatformTable, RowsFile][]) };
    },
    async remove() {
      await Promise.allSettled([...files.values()].map(({ handle }) => handle.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
