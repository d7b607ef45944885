import { type AgentMemory, type SessionState, finalResponse } from "@skein/core";
import { type Content, type Message, blocksOf, textOf } from "@skein/protocol";
import { searchWords } from "./search-words.ts";

/** The agent whose memories are searched, and the searching session. */
type Whose = Pick<SessionState, "tenant" | "agentId" | "sessionId">;

export interface MemoryRow extends Whose {
  readonly kind: "run" | "dropped";
  /** Stays the same for a memory, so that storing the memory again after a crash changes nothing. */
  readonly key: string;
  readonly text: string;
}

/** Stores memories and finds them by their words. */
export interface MemoryTable {
  keep(rows: readonly MemoryRow[]): Promise<void>;
  /**
   * Returns memories with any of the words, best first. Includes a memory of the searching session only if a compaction
   * dropped its message.
   */
  find(
    words: readonly string[],
    whose: Whose,
    limit: number,
  ): Promise<{ readonly found: number; readonly memories: readonly string[] }>;
  /** Counts the session's memories from messages that a compaction dropped. */
  dropped(whose: Whose): Promise<number>;
  /** Removes the memories of a session. */
  forget(session: Pick<Whose, "tenant" | "sessionId">): Promise<void>;
  /** Lists the memories of all agents, the oldest first. Used to move memories. */
  all(): AsyncIterable<MemoryRow>;
}

/** The largest length of a memory, in characters. */
const GIST = 1000;

/**
 * Creates an agent memory that is searched by words. It stores each run's prompt and answer, and the messages that a
 * compaction drops.
 *
 * Memories belong to one agent of one tenant. From the session in which it searches, an agent only gets memories of
 * dropped messages. Reasons: decision 041 in docs/decisions.
 */
export function createTableMemory(table: MemoryTable, limit: number): AgentMemory {
  const keep = async (rows: readonly MemoryRow[]): Promise<number> => {
    const worth = rows.filter(({ text }) => text.trim() !== "");
    if (worth.length > 0) await table.keep(worth);
    return worth.length;
  };

  return {
    type: "full_text",
    async retrieve({ state, query }) {
      const words = searchWords(query);
      return words.length === 0 ? { found: 0, memories: [] } : table.find(words, state, limit);
    },
    async update({ state, answer }) {
      const prompt = state.run ? textOf(state.run.prompt.content) : "";
      const said = answer || finalResponse(state);
      const text = `Asked: ${shortened(prompt, 400)}\nAnswered: ${shortened(said, GIST - 450)}`;
      return keep([rowOf(state, "run", state.run?.runId ?? state.sessionId, text)]);
    },
    async beforeCompaction(state) {
      const unseen = state.transcript.slice(state.compacted?.until ?? 0);
      const rows = unseen.map((message) => rowOf(state, "dropped", message.id, gistOf(message)));
      return { memories_written: await keep(rows) };
    },
    afterCompaction: async (state) => ({ memories_found: await table.dropped(state) }),
    forget: (session) => table.forget(session),
  };
}

function rowOf({ tenant, agentId, sessionId }: Whose, kind: MemoryRow["kind"], key: string, text: string): MemoryRow {
  return { tenant, agentId, sessionId, kind, key, text: shortened(text, GIST) };
}

/** Returns the text of a message, with the calls and results of tools. */
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
