import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type MemoryStore, type SessionState, finalResponse } from "@skein/core";
import { type Content, type Message, blocksOf, textOf } from "@skein/protocol";
import { queryOf } from "./query.ts";

export interface FullTextMemoryOptions {
  /** The file that holds the memories; without one they last as long as the process. */
  readonly file?: string;
  /** How many memories are put before the model at most. */
  readonly limit?: number;
  readonly now?: () => number;
}

export interface FullTextMemory extends MemoryStore {
  close(): void;
}

/** The most characters of one memory: enough to say what it was about. */
const GIST = 1000;

/**
 * What an agent remembers, found again by its words: each run's prompt and answer, and what compactions dropped.
 *
 * Memories belong to one agent of one tenant. Of its own session an agent is only reminded of what it no longer sees.
 */
export function createFullTextMemory(options: FullTextMemoryOptions = {}): FullTextMemory {
  const { file, limit = 5, now = Date.now } = options;
  // sqlite gives its side files the mode of the file itself, so it must be there first.
  if (file !== undefined) closeSync(openSync(file, "a", 0o600));
  const database = new DatabaseSync(file ?? ":memory:", { timeout: 5000 });
  database.exec(SCHEMA);
  const write = database.prepare(WRITE);
  const find = database.prepare(FIND);
  const count = database.prepare(COUNT);

  const keep = (state: SessionState, kind: "run" | "dropped", key: string, text: string): number => {
    if (text.trim() === "") return 0;
    const { tenant, agentId, sessionId } = state;
    write.run(tenant, agentId, sessionId, kind, key, shortened(text, GIST), new Date(now()).toISOString());
    return 1;
  };

  return {
    type: "full_text",
    async retrieve({ state, query }) {
      const words = queryOf(query);
      if (words === undefined) return { found: 0, memories: [] };
      const { tenant, agentId, sessionId } = state;
      const { found } = count.get(words, tenant, agentId, sessionId) as { found: number };
      const rows = found === 0 ? [] : find.all(words, tenant, agentId, sessionId, limit);
      return { found, memories: rows.map((row) => String(row["text"])) };
    },
    async update({ state, answer }) {
      const prompt = state.run ? textOf(state.run.prompt.content) : "";
      const said = answer || finalResponse(state);
      const text = `Asked: ${shortened(prompt, 400)}\nAnswered: ${shortened(said, GIST - 450)}`;
      return keep(state, "run", state.run?.runId ?? state.sessionId, text);
    },
    async beforeCompaction(state) {
      const unseen = state.transcript.slice(state.compacted?.until ?? 0);
      const written = unseen.reduce((sum, message) => sum + keep(state, "dropped", message.id, gistOf(message)), 0);
      return { memories_written: written };
    },
    async afterCompaction(state) {
      const dropped = database.prepare(DROPPED).get(state.tenant, state.agentId, state.sessionId);
      return { memories_found: Number(dropped?.["found"] ?? 0) };
    },
    close: () => database.close(),
  };
}

const SCHEMA = /* sql */ `
pragma journal_mode = wal;
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
end;`;

/** Saying the same thing again, after a crash, changes nothing. */
const WRITE = /* sql */ `
insert into memories (tenant, agent_id, session_id, kind, key, text, created_at) values (?, ?, ?, ?, ?, ?, ?)
on conflict do update set text = excluded.text where text <> excluded.text`;

const MATCHES = /* sql */ `
from memory_words w join memories m on m.id = w.rowid
where memory_words match ? and m.tenant = ? and m.agent_id = ? and (m.session_id <> ? or m.kind = 'dropped')`;

const FIND = /* sql */ `select m.text ${MATCHES} order by w.rank, m.id desc limit ?`;
const COUNT = /* sql */ `select count(*) as found ${MATCHES}`;
const DROPPED = /* sql */ `
select count(*) as found from memories where tenant = ? and agent_id = ? and session_id = ? and kind = 'dropped'`;

/** A message in words: what was said, and what tools were asked and answered. */
function gistOf({ role, content }: Message): string {
  const said = blocksOf(content).map((block) => {
    if (block.type === "tool_use") return `Called ${String(block["name"])} with ${JSON.stringify(block["input"])}`;
    if (block.type === "tool_result") return `Result: ${textOf((block["content"] ?? "") as Content)}`;
    return textOf([block]);
  });
  const text = said.filter((part) => part !== "").join("\n");
  return text === "" ? "" : `${role === "user" ? "User" : "Assistant"}: ${text}`;
}

function shortened(text: string, length: number): string {
  const clean = text.toWellFormed().replaceAll("\0", "");
  return clean.length <= length ? clean : `${clean.slice(0, length - 1).toWellFormed()}…`;
}
