import type { FileStore } from "@skein/core";
import { KnownError, Uuid } from "@skein/protocol";
import pg from "pg";
import { keepAliveUntil } from "../stores/postgres/keep-process-alive.ts";
import { storedName } from "./safe-name.ts";

export interface PostgresFileStore extends FileStore {
  close(): Promise<void>;
}

const PREFIX = "postgres:files/";

/**
 * Stores generated files in the database of the sessions. Every server that uses the database can read them, and a
 * database dump includes them.
 *
 * Use this file store for servers that share only the database. For many large files, use a bucket.
 */
export function createPostgresFileStore({ url }: { readonly url: string }): PostgresFileStore {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: "skein",
    connectionTimeoutMillis: 5000,
    query_timeout: 30_000,
    max: 2,
    idleTimeoutMillis: 10_000,
    allowExitOnIdle: true,
  });
  // The pool drops an idle connection that breaks. The next query opens another connection.
  pool.on("error", () => {});
  let made: Promise<unknown> | undefined;

  /** Runs a query. Before that, creates the table if this process has not done so. */
  async function query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]> {
    try {
      await (made ??= pool.query(SCHEMA));
      return (await pool.query<Row>(text, [...values])).rows;
    } catch (error) {
      made = undefined;
      throw new KnownError("files_unavailable", "PostgreSQL could not store or read the file.", { cause: error });
    }
  }

  return {
    async put({ sessionId, fileId, filename, bytes }) {
      if (!Uuid.safeParse(sessionId).success)
        throw new KnownError("invalid", `"${sessionId}" is not the id of a session. Expected a UUID.`);
      const name = storedName(fileId, filename);
      await query(PUT, [sessionId, name, Buffer.from(bytes)]);
      return { storagePath: `${PREFIX}${sessionId}/${name}` };
    },
    async get(storagePath) {
      // If a file was moved from another file store to the database, its stored path is still the old path.
      const [sessionId = "", name = ""] = storagePath.split(/[\\/]/).slice(-2);
      if (!Uuid.safeParse(sessionId).success || name === "")
        throw new KnownError("invalid", "The path of a file must belong to the session.");
      const [row] = await query<{ bytes: Buffer }>(GET, [sessionId, name]);
      if (!row) throw new KnownError("not_found", "The file is not in the table of files.");
      return new Uint8Array(row.bytes);
    },
    async deleteSession(sessionId) {
      if (Uuid.safeParse(sessionId).success) await query(DELETE, [sessionId]);
    },
    async *sessions() {
      for (const { session_id } of await query<{ session_id: string }>(SESSIONS, [])) yield session_id;
    },
    close: () => keepAliveUntil(pool.end()),
  };
}

// PostgreSQL runs these statements in one transaction, because they are sent as one message. The lock prevents machines
// that start at the same time from creating the table twice.
const SCHEMA = /* sql */ `
select pg_advisory_xact_lock(hashtext('skein_files'));
create schema if not exists skein_files;
create table if not exists skein_files.files (
  session_id uuid not null, name text not null, bytes bytea not null, stored_at timestamptz not null default now(),
  primary key (session_id, name));
alter table skein_files.files alter column bytes set storage external;`;

const PUT = /* sql */ `
insert into skein_files.files (session_id, name, bytes) values ($1, $2, $3)
on conflict (session_id, name) do update set bytes = excluded.bytes, stored_at = now()`;

const GET = /* sql */ "select bytes from skein_files.files where session_id = $1 and name = $2";

const DELETE = /* sql */ "delete from skein_files.files where session_id = $1";

const SESSIONS = /* sql */ "select distinct session_id from skein_files.files";
