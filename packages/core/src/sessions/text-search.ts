import type { MessageRow, Session } from "@skein/protocol";
import type { SessionFilter, Store, TextPlace } from "../ports/store.ts";

/**
 * The most messages of one session that a store returns. One message is not enough, because a message may have the text
 * only in a field name.
 */
export const MOST_PLACES = 5;
/** How many characters of stored JSON a store returns before the text, and in total. */
export const BEFORE_TEXT = 200;
export const AROUND_TEXT = 1200;

/** The most sessions of one query to the store, and of one call of `searchSessions`. A cursor continues the search. */
const AT_ONCE = 50;
const MOST_LOOKED = 2000;
const DEFAULT_LIMIT = 100;
const EXCERPT = 160;

export interface TextQuery extends SessionFilter {
  readonly text: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** A session and its last message that contains the text. */
interface TextMatch {
  readonly session: Session;
  readonly role: MessageRow["role"];
  readonly sequence: number;
  readonly created_at: string;
  /** The text with some of its surroundings. */
  readonly excerpt: string;
}

export interface TextMatches {
  readonly items: readonly TextMatch[];
  /** The cursor for the rest; null if every session was searched. */
  readonly cursor: string | null;
  /** The time of the last run in the last searched session; null if no session was searched. */
  readonly searchedUntil: string | null;
}

/**
 * Finds sessions whose messages contain a text. The session with the latest run comes first. A call searches a limited
 * number of sessions, because no index exists, and returns a cursor for the rest.
 */
export async function searchSessions(
  store: Pick<Store, "list" | "search">,
  { text, limit = DEFAULT_LIMIT, cursor: begin, ...filter }: TextQuery,
): Promise<TextMatches> {
  const size = Math.min(AT_ONCE, limit);
  const items: TextMatch[] = [];
  let cursor: string | null | undefined = begin;
  let searchedUntil: string | null = null;
  for (let looked = 0; looked < MOST_LOOKED && items.length + size <= limit && cursor !== null; looked += size) {
    const page: Awaited<ReturnType<Store["list"]>> = await store.list({
      ...filter,
      order: "used",
      limit: size,
      ...(cursor !== undefined && { cursor }),
    });
    const ids = page.items.map(({ id }) => id);
    const places = Map.groupBy(await store.search(filter.tenant, ids, text), ({ sessionId }) => sessionId);
    for (const session of page.items) {
      const match = firstSaid(places.get(session.id) ?? [], text);
      if (match) items.push({ session, ...match });
    }
    const last = page.items.at(-1);
    if (last) searchedUntil = last.last_run_at ?? last.created_at;
    ({ cursor } = page);
  }
  return { items, cursor: cursor ?? null, searchedUntil };
}

/** Returns a text in lower case, with the escapes of JSON. */
export function jsonText(text: string): string {
  return JSON.stringify(text).slice(1, -1).toLowerCase();
}

/**
 * Returns the piece of JSON around a text, or undefined if the JSON does not contain the text. For stores that hold
 * messages in memory.
 */
export function jsonAround(json: string, text: string): string | undefined {
  const at = json.toLowerCase().indexOf(jsonText(text));
  return at === -1 ? undefined : json.slice(Math.max(0, at - BEFORE_TEXT)).slice(0, AROUND_TEXT);
}

function firstSaid(places: readonly TextPlace[], text: string): Omit<TextMatch, "session"> | undefined {
  for (const { role, sequence, created_at, json } of places) {
    const excerpt = excerptOf(json, text);
    if (excerpt !== undefined) return { role, sequence, created_at, excerpt };
  }
  return undefined;
}

/**
 * Returns the first value that contains the text, shortened. Returns undefined if only field names contain the text.
 */
export function excerptOf(json: string, text: string): string | undefined {
  const lower = json.toLowerCase();
  const wanted = jsonText(text);
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, at + 1)) {
    const [begin, end] = [quoteBefore(json, at), quoteAfter(json, at + wanted.length)];
    if (json.slice(end, end + 2) === '":') continue;
    const from = escapeEnd(json, begin, at - 24);
    return plainText(json.slice(from, Math.min(end, from + EXCERPT + wanted.length)));
  }
  return undefined;
}

/** The start of the JSON string that contains this position, or the start of the piece. */
function quoteBefore(json: string, at: number): number {
  for (let place = at - 1; place >= 0; place--) if (isQuote(json, place)) return place + 1;
  return 0;
}

function quoteAfter(json: string, at: number): number {
  for (let place = at; place < json.length; place++) if (isQuote(json, place)) return place;
  return json.length;
}

/**
 * Whether a quotation mark begins or ends a JSON string. An escaped quotation mark has an odd number of backslashes
 * before it.
 */
function isQuote(json: string, at: number): boolean {
  if (json[at] !== '"') return false;
  let slashes = 0;
  while (json[at - 1 - slashes] === "\\") slashes += 1;
  return slashes % 2 === 0;
}

/** The first position from `at` on that is not inside an escape of the JSON string that begins at `begin`. */
function escapeEnd(json: string, begin: number, at: number): number {
  let place = begin;
  while (place < at) place += json[place] !== "\\" ? 1 : json[place + 1] === "u" ? 6 : 2;
  return place;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "", b: "", f: "" };

/** Decodes a piece of a JSON string. Drops an escape that is cut off at the end of the piece. */
function plainText(piece: string): string {
  const escape = /\\(?:u([0-9a-fA-F]{4})|([^u])|(?:u[0-9a-fA-F]{0,3})?$)/g;
  return piece
    .replaceAll(escape, (_, code: string | undefined, letter: string | undefined) =>
      code === undefined ? (ESCAPES[letter ?? ""] ?? letter ?? "") : String.fromCharCode(Number.parseInt(code, 16)),
    )
    .toWellFormed();
}
