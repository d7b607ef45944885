import type { Random } from "../kill/random.ts";

/** A session with the ids of its parts. They let a request use ids that belong together. */
export interface KnownSession {
  readonly session_id: string;
  readonly agent_id: string;
  readonly lists: Record<string, string[]>;
}

/** Ids, cursors and files from earlier answers, for later requests. */
export interface KnownThings {
  readonly sessions: KnownSession[];
  /** Remembers ids and cursors in an answer. */
  learn(path: string, body: unknown): void;
  forget(sessionId: string): void;
  /** Returns a known value for a field of this name. A value of `session` is preferred. */
  pick(name: string, session: KnownSession | undefined, random: Random): unknown;
  /** The last session that was exported. */
  exported(): unknown;
}

const LIMIT = 60;
/** Maps a field to the field whose values it takes. */
const SAME: Readonly<Record<string, string>> = { default_model_id: "model_id" };

export function createKnownThings(): KnownThings {
  const sessions: KnownSession[] = [];
  const all: Record<string, string[]> = {
    tools: ["add"],
    cursor: [],
    tag: ["a", "b"],
    tags: ["a", "b"],
    url: ["http://127.0.0.1:9/told"],
  };
  let file: unknown;

  function keep(lists: Record<string, string[]>, name: string, value: unknown): void {
    if (typeof value !== "string") return;
    const list = (lists[name] ??= []);
    if (list.includes(value)) return;
    list.push(value);
    if (list.length > LIMIT) list.shift();
  }

  function learnOne(path: string, one: Record<string, unknown>): void {
    if (one["format"] === "skein.session") {
      file = one;
      return;
    }
    const { id, agent_id: agentId } = one;
    if (/\/(sessions|fork|import)$|\/sessions\/[^/]+$/.test(path) && typeof id === "string") {
      if (!sessions.some(({ session_id }) => session_id === id))
        sessions.push({ session_id: id, agent_id: String(agentId), lists: {} });
      if (sessions.length > LIMIT) sessions.shift();
    }
    if (/\/agents(\/[^/]+)?$/.test(path)) keep(all, "agent_id", id);
    if (path.endsWith("/webhooks")) keep(all, "webhook_id", id);
    if (path.endsWith("/models")) keep(all, "model_id", id);
    const session = sessions.find(({ session_id }) => path.includes(session_id));
    for (const lists of session ? [session.lists, all] : [all]) {
      if (path.endsWith("/messages")) keep(lists, "message_id", id ?? (one["message"] as { id?: string })?.id);
      if (path.endsWith("/runs")) keep(lists, "run_id", id);
      for (const name of ["run_id", "tool_use_id", "file_id"]) keep(lists, name, one[name]);
    }
  }

  return {
    sessions,
    learn(address, body) {
      const [path = ""] = address.split("?");
      if (typeof body !== "object" || body === null) return;
      const { data, next_cursor: cursor } = body as { data?: unknown; next_cursor?: unknown };
      keep(all, "cursor", cursor);
      const items = Array.isArray(data) ? data.slice(0, 20) : [body];
      for (const item of items) if (typeof item === "object" && item !== null) learnOne(path, item);
    },
    forget(sessionId) {
      const index = sessions.findIndex(({ session_id }) => session_id === sessionId);
      if (index >= 0) sessions.splice(index, 1);
    },
    pick(name, session, random) {
      if (session && name === "session_id") return session.session_id;
      if (session && name === "agent_id" && random.chance(0.9)) return session.agent_id;
      const own = session?.lists[name];
      if (own && own.length > 0 && random.chance(0.9)) return random.pick(own);
      const list = all[SAME[name] ?? name];
      return list && list.length > 0 ? random.pick(list) : undefined;
    },
    exported: () => file,
  };
}
