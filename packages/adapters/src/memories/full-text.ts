import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { AgentMemory } from "@skein/core";
import { KnownError, isKnownError } from "@skein/protocol";
import { knownSqliteError } from "../stores/sqlite/errors.ts";
import { type MemoryRow, type MemoryTable, createTableMemory } from "./table-memory.ts";

export interface FullTextMemoryOptions {
  /** The file with the memories. Without a file, the memories are lost when the process ends. */
  readonly file?: string;
  /** The largest number of memories that the model is shown. */
  readonly limit?: number;
  readonly now?: () => number;
}

/** An agent memory that can be moved to another memory: all its rows can be read and written. */
export interface FullTextMemory extends AgentMemory, Pick<MemoryTable, "keep" | "all"> {
  close(): Promise<void>;
}

/** Creates an agent memory in a sqlite file, with sqlite's full-text index. */
export function createFullTextMemory(options: FullTextMemoryOptions = {}): FullTextMemory {
  const { file, limit = 5, now = Date.now } = options;
  const database = openDatabase(file);
  const write = database.prepare(WRITE);
  const find = database.prepare(FIND);
  const count = database.prepare(COUNT);
  const table: MemoryTable = {
    async keep(rows) {
      const at = new Date(now()).toISOString();
      for (const { tenant, agentId, sessionId, kind, key, text } of rows)
        write.run(tenant, agentId, sessionId, kind, key, text, at);
    },
    async find(words, { tenant, agentId, sessionId }, most) {
      // In quotes, a word is never read as query syntax.
      const query = words.map((word) => `"${word}"`).join(" OR ");
      const { found } = count.get(query, tenant, agentId, sessionId) as { found: number };
      const rows = found === 0 ? [] : find.all(query, tenant, agentId, sessionId, most);
      return { found, memories: rows.map((row) => String(row["text"])) };
    },
    async dropped({ tenant, agentId, sessionId }) {
      return Number(database.prepare(DROPPED).get(tenant, agentId, sessionId)?.["found"] ?? 0);
    },
    async forget({ tenant, sessionId }) {
      database.prepare(FORGET).run(tenant, sessionId);
    },
    async *all() {
      yield* database.prepare(ALL).iterate() as Iterable<unknown> as Iterable<MemoryRow>;
    },
  };
  return { ...createTableMemory(table, limit), keep: table.keep, all: table.all, close: async () => database.close() };
}

/** Opens the file and creates its tables. An error names the file. */
function openDatabase(file: string | undefined): DatabaseSync {
  try {
    // The file is created with this mode before sqlite opens it. Sqlite then uses the same mode for its additional
    // files.
    if (file !== undefined) closeSync(openSync(file, "a", 0o600));
    const database = new DatabaseSync(file ?? ":memory:", { timeout: 5000 });
    database.exec(SCHEMA);
    return database;
  } catch (error) {
    const known = knownSqliteError(error);
    if (!isKnownError(known)) throw error;
    throw new KnownError(known.code, `${file ?? "The memory of agents"}: ${known.message}`, { cause: error });
  }
}

const SCHEMA = /* sql */ `
pragma journal_mode = wal;
pragma secure_delete = on;
create table if not exists memories (
  id integer primary key, tenant text not null, agent_id text not null, session_id text not null,
  kind text not null, key text not null, text text not null, created_at text not null,
  unique (tenant, agent_id, session_id, kind, key)) strict;
create virtual table if not exists memory_words using fts5(
  text, content = 'memories', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2');
create trigger if not exists memories_added after insert on memories begin
  insert into memory_words (rowid, text) values (new.id, new.text);
end;
create trigger if not exists memories_changed after update on memories begin
  insert into memory_words (memory_words, rowid, text) values ('delete', old.id, old.text);
  insert into memory_words (rowid, text) values (new.id, new.text);
end;
create trigger if not exists memories_removed after delete on memories begin
  insert into memory_words (memory_words, rowid, text) values ('delete', old.id, old.text);
end;
create index if not exists memories_session on memories (tenant, session_id);
insert into memory_words (memory_words, rank) values ('secure-delete', 1);`;

const WRITE = /* sql */ `
insert into memories (tenant, agent_id, session_id, kind, key, text, created_at) values (?, ?, ?, ?, ?, ?, ?)
on conflict do update set text = excluded.text where text <> excluded.text`;

const MATCHES = /* sql */ `
from memory_words w join memories m on m.id = w.rowid
where memory_words match ? and m.tenant = ? and m.agent_id = ? and (m.session_id <> ? or m.kind = 'dropped')`;

const FIND = /* sql */ `select m.text ${MATCHES} order by w.rank, m.id desc limit ?`;
const COUNT = /* sql */ `select count(*) as found ${MATCHES}`;
const ALL = /* sql */ `
select tenant, agent_id as agentId, session_id as sessionId, kind, key, text from memories order by id`;
const FORGET = /* sql */ `delete from memories where tenant = ? and session_id = ?`;
const DROPPED = /* sql */ `
select count(*) as found from memories where tenant = ? and agent_id = ? and session_id = ? and kind = 'dropped'`;
