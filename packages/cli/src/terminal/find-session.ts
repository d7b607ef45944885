import type { Page } from "@skein/core";
import type { MessageRow, Run } from "@skein/protocol";
import type { SeenSession, SessionCalls } from "../sessions/session-calls.ts";
import { MissingError } from "./exit-codes.ts";
import { shorten } from "./width.ts";

/** Matches the beginning of an id: 4 to 35 of its characters. */
const BEGINNING = /^[0-9a-f][0-9a-f-]{3,34}$/i;
const LISTS = {
  session: '"skein sessions list" shows the sessions.',
  run: '"skein runs list SESSION" shows the runs of a session.',
};
/** If the beginning of an id is ambiguous, the error lists at most this number of matches. */
const MOST_CANDIDATES = 10;

/**
 * Returns the id of the session that `word` names: `last` means the newest session, and the beginning of an id means
 * the only session with such an id. Any other word, such as a whole id, is returned as it is.
 */
export async function sessionIdOf(sessions: SessionCalls, word: string): Promise<string> {
  if (word === "last") return newest(sessions);
  if (!BEGINNING.test(word)) return word;
  const found: string[] = [];
  for await (const { id, title } of sessionsOf(sessions)) {
    if (!id.startsWith(word.toLowerCase())) continue;
    if (found.push(title === null ? id : `${id}  ${shorten(title, 60)}`) > MOST_CANDIDATES) break;
  }
  return theOnly("session", word, found);
}

async function newest(sessions: SessionCalls): Promise<string> {
  const [session] = (await sessions.list({ limit: 1 })).items;
  if (session) return session.id;
  throw new MissingError("There is no session yet.");
}

/** Finds a run by its id or by the beginning of its id. Returns the ids of the run and of its session. */
export async function findRun(
  sessions: SessionCalls,
  word: string,
  sessionId: string | undefined,
): Promise<{ readonly sessionId: string; readonly runId: string }> {
  const found: string[] = [];
  let last = "";
  const look = async (session: string): Promise<void> => {
    for await (const { id } of runsOf(sessions, session))
      if (id === word || (BEGINNING.test(word) && id.startsWith(word.toLowerCase()))) {
        last = session;
        found.push(id);
      }
  };
  if (sessionId !== undefined) await look(sessionId);
  // Runs are listed by session, so all sessions are searched, newest first.
  else
    for await (const { id } of sessionsOf(sessions)) {
      await look(id);
      if (found.includes(word) || found.length > MOST_CANDIDATES) break;
    }
  return { runId: theOnly("run", word, found), sessionId: last };
}

function theOnly(what: "session" | "run", word: string, found: readonly string[]): string {
  const [first, ...others] = found;
  if (first === undefined) throw new MissingError(`There is no ${what} whose id begins with ${word}. ${LISTS[what]}`);
  if (others.length === 0) return first.split(" ", 1)[0] ?? first;
  const lines = found.slice(0, MOST_CANDIDATES).map((line) => `\n  ${line}`);
  const more = found.length > MOST_CANDIDATES ? "\n  and more" : "";
  throw new MissingError(
    `More than one ${what} has an id that begins with ${word}. Type more of the id:${lines.join("")}${more}`,
  );
}

export function sessionsOf(
  sessions: SessionCalls,
  query: Parameters<SessionCalls["list"]>[0] = {},
): AsyncGenerator<SeenSession> {
  return everyOf((cursor) => sessions.list({ ...query, limit: 100, ...cursor }));
}

export function runsOf(sessions: SessionCalls, sessionId: string): AsyncGenerator<Run> {
  return everyOf((cursor) => sessions.runs(sessionId, { limit: 100, ...cursor }));
}

export function messagesOf(sessions: SessionCalls, sessionId: string): AsyncGenerator<MessageRow> {
  return everyOf((cursor) => sessions.messages(sessionId, { limit: 100, ...cursor }));
}

/** Reads a list page by page, and yields all items. */
export async function* everyOf<Item>(
  read: (next: { readonly cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  for (let next: { readonly cursor?: string } | undefined = {}; next;) {
    const { items, cursor }: Page<Item> = await read(next);
    yield* items;
    next = cursor === null ? undefined : { cursor };
  }
}

/** Returns the first items, at most `most`. */
export async function first<Item>(most: number, items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const taken: Item[] = [];
  if (most === 0) return taken;
  for await (const item of items) if (taken.push(item) === most) break;
  return taken;
}
