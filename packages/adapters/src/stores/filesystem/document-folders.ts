import { readdirSync } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Event, Uuid } from "@skein/protocol";
import { actionLine, actionsOf } from "./actions.ts";
import { configDocument, conversationDocument, conversationName, documentText, nameWidth } from "./documents.ts";
import { addToFile, makeFolder, replaceFile } from "./durable-files.ts";
import type { Documented, Head, Heads } from "./heads.ts";
import type { LoadedLog } from "./session-log.ts";

export interface DocumentFoldersDeps {
  readonly folder: string;
  readonly heads: Heads;
  /** Alone in the session's lane: nothing is appended meanwhile. */
  readonly alone: <Result>(sessionId: string, work: () => Promise<Result>) => Promise<Result>;
  /** Sessions whose documents were brought up to date. */
  readonly onWritten: (heads: readonly Head[]) => Promise<void>;
}

/**
 * Seed 002's three folders, written behind the log. They hold nothing that the log does not: they are not synced, appends
 * do not wait for them, and what is missing or behind is written again at open.
 */
export interface DocumentFolders {
  changed(head: Head, events: readonly Event[]): void;
  /** Whether there is something to write for it, which needs its log in memory. */
  waiting(head: Head): boolean;
  remove(sessionId: string): Promise<void>;
  /** Compares what is there with what should be, and leaves what is missing or behind to be written. */
  check(): void;
  /** Writes everything that waits. */
  settle(): Promise<void>;
  /** Stops writing in the background. */
  stop(): void;
}

interface Waiting {
  events: Event[];
  /** Not the events at hand, but everything after this one must be written again. */
  from: number | null;
  /** Not earlier than this (of `performance.now()`). */
  notBefore: number;
}

/** What is to be written for one session, taken at one instant. */
interface Sheets {
  readonly anew: boolean;
  readonly runs: readonly { readonly runId: string; readonly text: string; readonly whole: boolean }[];
  readonly conversations: readonly { readonly number: number; readonly text: string }[];
  readonly config: string | undefined;
  readonly documented: Documented;
}

const FOLDERS = ["agent_config", "conversation_history", "agent_runs"] as const;
/** How soon documents follow an append, in ms. */
const PACE = 250;
/** A session whose documents take long is written less often: they cost at most this part of the time. */
const SHARE = 1 / 20;
const AT_ONCE = 4;

export function createDocumentFolders({ folder, heads, alone, onWritten }: DocumentFoldersDeps): DocumentFolders {
  const [configs, conversations, runs] = FOLDERS.map((name) => join(folder, name)) as [string, string, string];
  for (const path of [configs, conversations, runs]) makeFolder(path);
  const waiting = new Map<string, Waiting>();
  const writing = new Set<string>();
  const earliest = new Map<string, number>();
  let chain = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /** One at a time, so that a session that is removed is not written again. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = chain.then(work);
    chain = done.catch(() => {});
    return done;
  }

  function wait(sessionId: string, from: number | null, events: readonly Event[]): void {
    const known = waiting.get(sessionId);
    if (!known) {
      const notBefore = Math.max(performance.now() + PACE, earliest.get(sessionId) ?? 0);
      waiting.set(sessionId, { events: [...events], from, notBefore });
    } else {
      for (const event of events) known.events.push(event);
      if (from !== null) known.from = Math.min(known.from ?? from, from);
    }
    schedule();
  }

  function schedule(): void {
    if (timer || stopped || waiting.size === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      const now = performance.now();
      const ready = [...waiting].filter(([, { notBefore }]) => notBefore <= now).map(([id]) => id);
      // What fails here waits for its next turn; `settle` is where it is heard of.
      void write(ready, 1)
        .catch(() => {})
        .finally(schedule);
    }, PACE).unref();
  }

  async function write(ids: readonly string[], atOnce: number): Promise<void> {
    const written: Head[] = [];
    const failures: Error[] = [];
    const rest = ids.values();
    const worker = async (): Promise<void> => {
      for (const id of rest)
        await writeOne(id).then(
          (head) => head && written.push(head),
          (error: Error) => failures.push(error),
        );
    };
    await inTurn(async () => {
      await Promise.all(Array.from({ length: atOnce }, worker));
      await onWritten(written);
    });
    if (failures[0]) throw failures[0];
  }

  async function writeOne(id: string): Promise<Head | undefined> {
    const task = waiting.get(id);
    const head = heads.find(id);
    waiting.delete(id);
    if (!task || !head || head.damage) return undefined;
    const began = performance.now();
    writing.add(id);
    try {
      // At one instant: events that arrive later wait for the next turn.
      const log = task.from === null ? heads.inMemory(head) : undefined;
      const sheets = log ? composed(head, log, task.events) : await again(head, task.from ?? firstOf(head, task));
      await writeSheets(id, sheets);
      heads.change(head, { documents: sheets.documented });
      earliest.set(id, performance.now() + (performance.now() - began) / SHARE);
      return head;
    } catch (error) {
      if (heads.find(id) === head) wait(id, Math.max(0, head.documents.sequence), []);
      throw error;
    } finally {
      writing.delete(id);
    }
  }

  /** Everything after an event that the documents are known to show. */
  function again(head: Head, from: number): Promise<Sheets> {
    return alone(head.id, async () => {
      // Nothing is appended while we are alone, and what waits meanwhile is part of what is read here.
      const newer = waiting.get(head.id);
      if (newer) newer.events = [];
      const log = await heads.log(head);
      const touched = new Set(
        (await heads.read(head, from)).flatMap((event) => actionsOf(event).map(({ run_id }) => run_id)),
      );
      const starts = [...touched].map(
        (runId) => log.tables.runs.findLast(({ run }) => run.id === runId)?.run.first_sequence ?? 1,
      );
      const events = await heads.read(head, Math.min(from, ...starts.map((start) => start - 1)));
      return composedAgain(head, log, { events, from, touched });
    });
  }

  async function writeSheets(id: string, sheets: Sheets): Promise<void> {
    if (sheets.anew) await removeAll(id);
    if (sheets.runs.length > 0) makeFolder(join(runs, id));
    for (const { runId, text, whole } of sheets.runs) {
      const path = join(runs, id, `${runId}.jsonl`);
      await (whole ? replaceFile(path, text, false) : addToFile(path, text));
    }
    await writeConversations(join(conversations, id), sheets);
    if (sheets.config !== undefined) await replaceFile(join(configs, `${id}.json`), sheets.config, false);
  }

  function removeAll(id: string): Promise<unknown> {
    return Promise.all([
      rm(join(configs, `${id}.json`), { force: true }),
      rm(join(conversations, id), { recursive: true, force: true }),
      rm(join(runs, id), { recursive: true, force: true }),
    ]);
  }

  function names(path: string): readonly string[] {
    try {
      return readdirSync(path);
    } catch {
      return [];
    }
  }

  function isComplete({ id, last, documents }: Head, configNames: ReadonlySet<string>): boolean {
    if (documents.sequence !== last || (documents.config && !configNames.has(`${id}.json`))) return false;
    if (documents.runs > 0 && names(join(runs, id)).length !== documents.runs) return false;
    if (documents.conversations === 0) return true;
    const found = names(join(conversations, id));
    return found.length === documents.conversations + 1 && sameWidth(found);
  }

  return {
    changed: (head, events) => wait(head.id, null, events),
    waiting: ({ id }) => waiting.has(id) || writing.has(id),
    remove(sessionId) {
      waiting.delete(sessionId);
      earliest.delete(sessionId);
      return inTurn(async () => {
        await removeAll(sessionId);
      });
    },
    check() {
      const configNames = new Set(names(configs));
      for (const head of heads.all()) {
        if (head.damage || isComplete(head, configNames)) continue;
        const behind = head.documents.sequence >= 0 && head.documents.sequence < head.last;
        const whole = isComplete({ ...head, last: head.documents.sequence }, configNames);
        wait(head.id, behind && whole ? head.documents.sequence : 0, []);
      }
      const strangers = new Set(
        [...configNames, ...names(conversations), ...names(runs)]
          .map((name) => name.replace(/\.json$/, ""))
          .filter((id) => Uuid.safeParse(id).success && !heads.find(id)),
      );
      void inTurn(async () => {
        for (const id of strangers) await removeAll(id);
      }).catch(() => {});
    },
    async settle() {
      await chain;
      while (waiting.size > 0) await write([...waiting.keys()], AT_ONCE);
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** After which event a task begins whose events are all at hand. */
function firstOf(head: Head, { events }: Waiting): number {
  return events[0] ? events[0].sequence - 1 : head.last;
}

/** What these events, the latest of the log, add to the documents. */
function composed(head: Head, log: LoadedLog, events: readonly Event[]): Sheets {
  return sheets(head, log, { events, whole: false, since: (events[0]?.sequence ?? head.last + 1) - 1 });
}

function composedAgain(
  head: Head,
  log: LoadedLog,
  { events, from, touched }: { events: readonly Event[]; from: number; touched: ReadonlySet<string> },
): Sheets {
  const theirs = events.filter((event) => touched.has(String((event.data as { run_id?: unknown }).run_id)));
  return { ...sheets(head, log, { events: theirs, whole: true, since: from }), anew: from === 0 };
}

function sheets(
  head: Head,
  { tables, story }: LoadedLog,
  { events, whole, since }: { events: readonly Event[]; whole: boolean; since: number },
): Sheets {
  const byRun = Map.groupBy(events.flatMap(actionsOf), ({ run_id }) => run_id);
  const config = since === head.last && !whole ? undefined : configDocument(tables, story);
  const ended = tables.runs.filter(({ run }) => (run.last_sequence ?? 0) > since);
  return {
    anew: false,
    runs: [...byRun].map(([runId, actions]) => {
      const before = whole ? 0 : (story.actions.get(runId) ?? 0) - actions.length;
      return { runId, whole, text: actions.map((action, i) => actionLine(action, before + i + 1)).join("") };
    }),
    conversations: ended.flatMap(({ run }) => {
      const document = conversationDocument(run, story);
      return document ? [{ number: run.number, text: documentText(document) }] : [];
    }),
    config: config && documentText(config),
    documented: {
      sequence: head.last,
      config: story.state !== undefined,
      conversations: story.state ? tables.session.total_turns : 0,
      runs: story.actions.size,
    },
  };
}

async function writeConversations(folder: string, { conversations, documented }: Sheets): Promise<void> {
  const last = conversations.at(-1)?.number;
  if (last === undefined) return;
  makeFolder(folder);
  const width = nameWidth(last);
  const first = conversations[0]?.number ?? 1;
  if (first > 1 && nameWidth(first - 1) < width) await widenNames(folder, width);
  for (const { number, text } of conversations)
    await replaceFile(join(folder, conversationName(number, width)), text, false);
  const index = { last_sequence: last, total_conversations: documented.conversations };
  await replaceFile(join(folder, "index.json"), documentText(index), false);
}

/** Past 999 every name gets one digit more, once, so that names stay in order: a folder is renamed at 1,000, 10,000 … */
async function widenNames(folder: string, width: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const number = /^(\d+)\.json$/.exec(name)?.[1];
    if (number !== undefined && number.length < width)
      await rename(join(folder, name), join(folder, conversationName(Number(number), width)));
  }
}

function sameWidth(names: readonly string[]): boolean {
  const documents = names.filter((name) => name !== "index.json");
  return documents.length < names.length && new Set(documents.map(({ length }) => length)).size <= 1;
}
