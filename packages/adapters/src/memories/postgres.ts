import pg from "pg";
import { keepAliveUntil } from "../stores/postgres/keep-process-alive.ts";
import type { FullTextMemory } from "./full-text.ts";
import { type MemoryRow, type MemoryTable, createTableMemory } from "./table-memory.ts";
import { LONGEST_WORD, wordsOf } from "./search-words.ts";

export interface PostgresMemoryOptions {
  readonly url: string;
  /** The largest number of memories that the model is shown. */
  readonly limit?: number;
}

/**
 * Creates an agent memory in PostgreSQL, with a full-text index. All machines that use the database share its memories.
 */
export function createPostgresMemory({ url, limit = 5 }: PostgresMemoryOptions): FullTextMemory {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: "skein",
    connectionTimeoutMillis: 5000,
    // If the database hangs, a run continues without its memory.
    query_timeout: 5000,
    statement_timeout: 30_000,
    max: 2,
    idleTimeoutMillis: 10_000,
    allowExitOnIdle: true,
  });
  // The pool drops an idle connection that breaks. The next query opens another connection.
  pool.on("error", () => {});
  let made: Promise<unknown> | undefined;

  /** Runs a query. Before that, creates the table if this process has not done so. */
  async function query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]> {
    made ??= pool.query(SCHEMA);
    await made.catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return (await pool.query<Row>(text, [...values])).rows;
  }

  const table: MemoryTable = {
    async keep(rows) {
      const column = (name: keyof (typeof rows)[number]): readonly string[] => rows.map((row) => row[name]);
      await query(WRITE, [
        column("tenant"),
        column("agentId"),
        column("sessionId"),
        column("kind"),
        column("key"),
        column("text"),
        rows.map(({ text }) => lexemes(wordsOf(text))),
      ]);
    },
    async find(words, { tenant, agentId, sessionId }, most) {
      const any = plain(words).map((word) => `'${word}'`);
      const rows = await query<{ text: string; found: string }>(FIND, [
        any.join(" | "),
        tenant,
        agentId,
        sessionId,
        most,
      ]);
      return { found: Number(rows[0]?.found ?? 0), memories: rows.map(({ text }) => text) };
    },
    async dropped({ tenant, agentId, sessionId }) {
      const [row] = await query<{ found: string }>(DROPPED, [tenant, agentId, sessionId]);
      return Number(row?.found ?? 0);
    },
    async forget({ tenant, sessionId }) {
      await query(FORGET, [tenant, sessionId]);
    },
    async *all() {
      for (let last = "0"; ;) {
        const rows = await query<MemoryRow & { id: string }>(ALL, [last]);
        yield* rows.map(({ id: _, ...row }) => row);
        const end = rows.at(-1);
        if (!end) return;
        last = end.id;
      }
    },
  };
  return {
    ...createTableMemory(table, limit),
    keep: table.keep,
    all: table.all,
    close: () => keepAliveUntil(pool.end()),
  };
}

/** Removes accents from the words, as sqlite's index does. */
function plain(words: readonly string[]): readonly string[] {
  return words.map((word) => word.normalize("NFD").replaceAll(/\p{M}/gu, "")).filter((word) => word !== "");
}

/**
 * Returns the words as the text of a tsvector. Words contain only letters and digits, so they need no escape. Leaves out
 * words that are never searched for, because PostgreSQL rejects words of more than 2046 bytes.
 */
function lexemes(words: readonly string[]): string {
  return plain(words.filter((word) => word.length <= LONGEST_WORD))
    .map((word, at) => `'${word}':${at + 1}`)
    .join(" ");
}

// PostgreSQL runs these statements in one transaction, because they are sent as one message. The lock prevents machines
// that start at the same time from creating the table twice.
const SCHEMA = /* sql */ `
select pg_advisory_xact_lock(hashtext('skein_memory'));
create schema if not exists skein_memory;
create table if not exists skein_memory.memories (
  id bigint generated always as identity primary key,
  tenant text not null, agent_id text not null, session_id text not null, kind text not null, key text not null,
  text text not null, words tsvector not null, created_at timestamptz not null default now(),
  unique (tenant, agent_id, session_id, kind, key));
create index if not exists memories_session on skein_memory.memories (tenant, session_id);
create index if not exists memories_words on skein_memory.memories using gin (words);`;

const WRITE = /* sql */ `
insert into skein_memory.memories (tenant, agent_id, session_id, kind, key, text, words)
select tenant, agent_id, session_id, kind, key, text, words::tsvector
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
  as given (tenant, agent_id, session_id, kind, key, text, words)
on conflict (tenant, agent_id, session_id, kind, key) do update set text = excluded.text, words = excluded.words
where memories.text <> excluded.text`;

const FIND = /* sql */ `
select text, count(*) over () as found from skein_memory.memories, cast($1 as tsquery) as query
where words @@ query and tenant = $2 and agent_id = $3 and (session_id <> $4 or kind = 'dropped')
order by ts_rank(words, query) desc, id desc limit $5`;

const ALL = /* sql */ `
select id, tenant, agent_id as "agentId", session_id as "sessionId", kind, key, text
from skein_memory.memories where id > $1 order by id limit 500`;

const FORGET = /* sql */ `delete from skein_memory.memories where tenant = $1 and session_id = $2`;

const DROPPED = /* sql */ `
select count(*) as found from skein_memory.memories
where tenant = $1 and agent_id = $2 and session_id = $3 and kind = 'dropped'`;
