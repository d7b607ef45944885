import { createHash } from "node:crypto";
import { type Event, type JsonObject, KnownError, type NewEvent, isKnownError } from "@skein/protocol";
import type { FileStore } from "../ports/file-store.ts";
import type { Page, Store } from "../ports/store.ts";
import { sizeOfEvent } from "./event-size.ts";

export interface LargeTextsDeps {
  readonly store: Store;
  /** Where large texts are written. Without a file store, the bodies of events stay whole in the store. */
  readonly files?: FileStore | undefined;
  /** Finds the file store in which another process wrote large texts, if this process has no `files`. */
  readonly readFrom?: (() => Promise<FileStore | undefined>) | undefined;
  readonly report?: ((error: unknown) => void) | undefined;
  readonly now?: () => number;
}

/** The large texts of an event's body are moved to files if the body is longer than this (in characters). */
const LARGE_BODY = 256 * 1024;
/** The shortest text that is moved to a file, in characters. */
const LARGE_TEXT = 16 * 1024;
/** How many characters of a moved text stay in the log, so that lists and SQL show how the text begins. */
const SHOWN = 200;
/** How much recently read or written text is kept in memory, in characters. */
const CACHED = 16 * 1024 * 1024;
/** How many files are read at the same time. */
const AT_ONCE = 8;

/** The log has this instead of a moved text: the prefix, then the hash, length and beginning of the text. */
const PLACE = /^skein-text:([0-9a-f]{64}):\d+:/;
const PREFIX = "skein-text:";
/** The field that marks a body with moved texts. The data of an event never has a field of this name. */
const MOVED = "$moved_texts";

type Body = Event["data"];

/**
 * Returns a store that writes large texts to files: `{session}/text-{sha256}_body.txt`. A file is written before its
 * event. Every reader gets the body as it was written. If a file cannot be written, its text stays in the log, so that
 * a full bucket does not stop a session. The files of a session are deleted with it. Reasons:
 * docs/decisions/162-large-texts-are-files.md.
 */
export function keepLargeTexts(deps: LargeTextsDeps): Store {
  const { store, files, readFrom, report = () => {}, now = () => performance.now() } = deps;
  const texts = createTexts({ files, readFrom });
  /**
   * Until this time, texts stay in the log. After a failed write, texts are not moved for as long as that write took.
   * So a bucket that does not answer delays few appends.
   */
  let stayUntil = -Infinity;
  /** The whole bodies of events that are being appended, by event id. The listeners of an append get these bodies. */
  const whole = new Map<string, Body>();

  async function moved(sessionId: string, event: NewEvent): Promise<NewEvent> {
    if (!files || now() < stayUntil || sizeOfEvent(event as Event) <= LARGE_BODY) return event;
    const found = new Map<string, Encoded>();
    const data = mapTexts(event.data, (text) => {
      // A text with this prefix is moved even if it is short. So in a body with moved texts, every text with this prefix
      // stands for a file.
      if (text.length < LARGE_TEXT && !text.startsWith(PREFIX)) return text;
      const encoded = found.get(text) ?? encodedText(text);
      found.set(text, encoded);
      return placeOf(text, encoded);
    });
    if (found.size === 0) return event;
    const began = now();
    try {
      await forEach([...found], ([text, encoded]) => texts.put(sessionId, text, encoded));
    } catch (error) {
      stayUntil = now() + (now() - began);
      report(error);
      return event;
    }
    const marked: JsonObject = { ...(data as JsonObject), [MOVED]: true };
    return { ...event, data: marked } as NewEvent;
  }

  async function restored(event: Event): Promise<Event> {
    if (!isMoved(event)) return event;
    const { [MOVED]: _, ...rest } = event.data as JsonObject;
    return { ...event, data: (await texts.fill(event.session_id, rest, { mustBeThere: true })) as Body } as Event;
  }

  const heard = (event: Event): Event => {
    const data = whole.get(event.id);
    return data === undefined ? event : ({ ...event, data } as Event);
  };

  return {
    ...store,
    async append(sessionId, given, options) {
      const events = given.map(withoutMark);
      const stored = await Promise.all(events.map((event) => moved(sessionId, event)));
      const changed = events.filter((event, n) => event !== stored[n]);
      if (changed.length === 0) {
        const appended = await store.append(sessionId, events, options);
        return appended.repeated ? { ...appended, events: await inOrder(appended.events, restored) } : appended;
      }
      for (const { id, data } of changed) whole.set(id, data);
      try {
        const appended = await store.append(sessionId, stored, options);
        return { ...appended, events: await inOrder(appended.events.map(heard), restored) };
      } finally {
        for (const { id } of changed) whole.delete(id);
      }
    },
    read: async (sessionId, options) => inOrder(await store.read(sessionId, options), restored),
    async *follow(sessionId, options, signal) {
      for await (const event of store.follow(sessionId, options, signal))
        yield isMoved(event) ? restored(event) : event;
    },
    async *scan(after) {
      for await (const event of store.scan(after)) yield isMoved(event) ? restored(event) : event;
    },
    onNews: (listener) =>
      store.onNews((sessionId, events) => listener(sessionId, whole.size > 0 ? events?.map(heard) : events)),
    messages: async (sessionId, options) =>
      withItems(await store.messages(sessionId, options), (row) => texts.fill(sessionId, row)),
    awaits: async (sessionId, options) =>
      inOrder(await store.awaits(sessionId, options), (open) => texts.fill(sessionId, open)),
    openAwaits: async (query) => withItems(await store.openAwaits(query), (open) => texts.fill(open.session_id, open)),
    async summaries(tenant, sessionIds) {
      const shown = await store.summaries(tenant, sessionIds);
      return shown.map((summary) =>
        summary.lastMessage?.text.startsWith(PREFIX)
          ? { ...summary, lastMessage: { ...summary.lastMessage, text: summary.lastMessage.text.replace(PLACE, "") } }
          : summary,
      );
    },
    async delete(sessionId, options) {
      await store.delete(sessionId, options);
      // Files that cannot be deleted now are found later by `skein files orphans`.
      await files?.deleteSession?.(sessionId).catch(report);
    },
  };
}

/**
 * Removes the mark of moved texts from an event, because only this store may set it. With the mark in an imported log,
 * readers would look for files that do not exist.
 */
function withoutMark(event: NewEvent): NewEvent {
  if (!(MOVED in event.data)) return event;
  const { [MOVED]: _, ...data } = event.data as JsonObject;
  return { ...event, data } as NewEvent;
}

/** Whether texts of a stored event were moved to files. */
function isMoved({ data }: Event): boolean {
  return MOVED in data;
}

/** Reads and writes the files of large texts. Keeps recent texts in memory. */
function createTexts({ files, readFrom }: Pick<LargeTextsDeps, "files" | "readFrom">) {
  const cache = new Map<string, string>();
  let cached = 0;
  let reading: Promise<FileStore | undefined> | undefined;

  function remember(path: string, text: string): string {
    if (!cache.has(path)) cached += text.length;
    cache.delete(path);
    cache.set(path, text);
    for (const [oldest, { length }] of cache) {
      if (cached <= CACHED || oldest === path) break;
      cache.delete(oldest);
      cached -= length;
    }
    return text;
  }

  async function fetched(sessionId: string, hash: string): Promise<string> {
    const path = `${sessionId}/${nameOf(hash)}`;
    const known = cache.get(path);
    if (known !== undefined) return remember(path, known);
    const place = files ?? (await (reading ??= readFrom?.() ?? Promise.resolve(undefined)));
    if (!place)
      throw new KnownError(
        "invalid",
        "Large texts of this session are in a folder or bucket. Set SKEIN_FILES to that folder or bucket.",
      );
    const bytes = await place.get(path).catch((error: unknown) => {
      if (!isKnownError(error, "files_unavailable")) throw error;
      throw new KnownError("store_unavailable", `A large text cannot be read now. ${error.message}`, { cause: error });
    });
    return remember(path, JSON.parse(new TextDecoder().decode(bytes)) as string);
  }

  return {
    /** Writes a text, unless this process has just written or read it. */
    async put(sessionId: string, text: string, { hash, bytes }: Encoded): Promise<void> {
      const path = `${sessionId}/${nameOf(hash)}`;
      if (cache.has(path) || !files) return;
      await files.put({ sessionId, fileId: `text-${hash}`, filename: "body.txt", bytes });
      remember(path, text);
    },
    /**
     * Returns the value with its moved texts restored. With `mustBeThere`, it is an error if the file of a text is
     * missing. Rows are read without `mustBeThere`, because a text in a row may look like a moved text without
     * being one. Such a text stays as it is.
     */
    async fill<Value>(sessionId: string, value: Value, { mustBeThere = false } = {}): Promise<Value> {
      const found = new Map<string, string>();
      mapTexts(value, (text) => {
        const hash = PLACE.exec(text)?.[1];
        if (hash !== undefined) found.set(hash, text);
        return text;
      });
      if (found.size === 0) return value;
      await forEach([...found], async ([hash, place]) => {
        const text = await fetched(sessionId, hash).catch((error: unknown) => {
          if (!mustBeThere && isKnownError(error, "not_found", "invalid")) return place;
          if (!isKnownError(error, "not_found")) throw error;
          throw new KnownError(
            "store_corrupt",
            `The file of a large text of session ${sessionId} is missing: ${nameOf(hash)}. Restore the folder or bucket of SKEIN_FILES.`,
          );
        });
        found.set(hash, text);
      });
      return mapTexts(value, (text) => found.get(PLACE.exec(text)?.[1] ?? "") ?? text) as Value;
    },
  };
}

/** The file content of a text. It is encoded only once, because a text may have 20 MB. */
interface Encoded {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

function encodedText(text: string): Encoded {
  const bytes = Buffer.from(JSON.stringify(text));
  return { hash: createHash("sha256").update(bytes).digest("hex"), bytes };
}

function nameOf(hash: string): string {
  return `text-${hash}_body.txt`;
}

function placeOf(text: string, { hash }: Encoded): string {
  return `${PREFIX}${hash}:${text.length}:${text.slice(0, SHOWN).toWellFormed()}`;
}

/** Returns a copy of a JSON value with every text replaced. Parts without a change are not copied. */
function mapTexts(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === "string") return replace(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapTexts(item, replace));
    return items.some((item, n) => item !== value[n]) ? items : value;
  }
  let isChanged = false;
  const entries = Object.entries(value).map(([key, part]) => {
    const mapped = mapTexts(part, replace);
    isChanged ||= mapped !== part;
    return [key, mapped] as const;
  });
  return isChanged ? Object.fromEntries(entries) : value;
}

async function inOrder<Item>(items: readonly Item[], change: (item: Item) => Promise<Item>): Promise<readonly Item[]> {
  const changed: Item[] = [];
  for (const item of items) changed.push(await change(item));
  return changed;
}

async function withItems<Item>(page: Page<Item>, change: (item: Item) => Promise<Item>): Promise<Page<Item>> {
  return { ...page, items: await inOrder(page.items, change) };
}

async function forEach<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < items.length; n += AT_ONCE) await Promise.all(items.slice(n, n + AT_ONCE).map(act));
}
