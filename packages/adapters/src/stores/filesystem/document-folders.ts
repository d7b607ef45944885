import type { Event } from "@skein/protocol";
import { actionLine, actionsOf } from "./actions.ts";
import { configDocument, conversationDocument, documentText } from "./documents.ts";
import type { Head, Heads } from "./heads.ts";
import type { LoadedLog } from "./session-log.ts";
import { type AgentDocuments, createAgentTableFolders } from "./agent-table-folders.ts";

export interface DocumentFoldersDeps {
  readonly folder: string;
  readonly heads: Heads;
  /** Runs `work` alone in the session's queue, so that nothing is appended during that time. */
  readonly alone: <Result>(sessionId: string, work: () => Promise<Result>) => Promise<Result>;
  /** Called with sessions whose documents were updated. */
  readonly onWritten: (heads: readonly Head[]) => Promise<void>;
}

/**
 * Writes the three agent tables (`agent_config`, `conversation_history` and `agent_runs`) as folders of documents,
 * after the log. Appends do not wait for the documents, and the documents are not synced, because missing or old
 * documents are written again at open.
 */
export interface DocumentFolders {
  changed(head: Head, events: readonly Event[]): void;
  /**
   * Whether documents of the session still have to be written. Until they are written, the log of the session stays in
   * memory.
   */
  waiting(head: Head): boolean;
  remove(sessionId: string): Promise<void>;
  /** Queues missing and old documents for writing. Removes documents of sessions that do not exist. */
  check(): void;
  /** Writes all waiting documents. */
  settle(): Promise<void>;
  /** Stops all writing. Waiting documents are written at the next open. */
  stop(): Promise<void>;
}

interface Waiting {
  events: Event[];
  /** If set, all documents that changed after this event are written again. */
  from: number | null;
  /** The earliest time of the next write (`performance.now()`). */
  notBefore: number;
}

/** The delay between an append and the writing of its documents, in ms. */
const PACE = 250;
/**
 * Writing the documents of a session takes at most this fraction of the time. After a slow write, the next write of the
 * session is delayed.
 */
const SHARE = 1 / 20;
/** The number of sessions whose documents are written at the same time. More would take threads from appends. */
const AT_ONCE = 2;

export function createDocumentFolders({ folder, heads, alone, onWritten }: DocumentFoldersDeps): DocumentFolders {
  const tableFolders = createAgentTableFolders(folder);
  const waiting = new Map<string, Waiting>();
  const writing = new Map<string, Promise<unknown>>();
  const earliest = new Map<string, number>();
  let telling = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

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
      // A failed write is already queued again. `settle` reports the error if that write fails too.
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
      for (const id of rest) {
        if (stopped) return;
        await inTurn(id, () => writeOne(id)).then(
          (head) => head && written.push(head),
          (error: Error) => failures.push(error),
        );
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    await tell(written);
    if (failures[0]) throw failures[0];
  }

  /** Runs one operation at a time on the documents of a session. */
  async function inTurn<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    while (writing.has(id)) await writing.get(id)?.catch(() => {});
    const turn = work();
    writing.set(id, turn);
    try {
      return await turn;
    } finally {
      writing.delete(id);
    }
  }

  async function tell(written: readonly Head[]): Promise<void> {
    const told = telling.then(() => onWritten(written));
    telling = told.catch(() => {});
    await told;
  }

  async function writeOne(id: string): Promise<Head | undefined> {
    const task = waiting.get(id);
    const head = heads.find(id);
    waiting.delete(id);
    if (!task || !head || head.damage) return undefined;
    const began = performance.now();
    try {
      // The documents show the log as it is now. Later events are written in the next turn.
      const log = task.from === null ? heads.inMemory(head) : undefined;
      const toWrite = log ? composed(head, log, task.events) : await again(head, task.from ?? firstOf(head, task));
      const documents = await tableFolders.write(id, toWrite);
      heads.change(head, { documents });
      earliest.set(id, performance.now() + (performance.now() - began) / SHARE);
      return head;
    } catch (error) {
      if (heads.has(id)) wait(id, Math.max(0, head.documents.sequence), []);
      throw error;
    }
  }

  /** Returns all documents that changed after event `from`. The documents on disk show the log up to this event. */
  function again(head: Head, from: number): Promise<AgentDocuments> {
    return alone(head.id, async () => {
      // No append runs during this work. The log that is read here includes the waiting events.
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

  return {
    changed: (head, events) => wait(head.id, null, events),
    waiting: ({ id }) => waiting.has(id) || writing.has(id),
    async remove(sessionId) {
      waiting.delete(sessionId);
      earliest.delete(sessionId);
      await inTurn(sessionId, () => tableFolders.remove(sessionId));
    },
    check() {
      const found = tableFolders.find();
      for (const head of heads.all()) {
        const { id, last, damage, documents } = head;
        if (damage) continue;
        const whole = found.asLeft(id, documents);
        if (whole && documents.sequence === last) continue;
        wait(id, whole ? Math.max(0, documents.sequence) : 0, []);
      }
      for (const id of found.ids) if (!heads.has(id)) void tableFolders.remove(id).catch(() => {});
    },
    async settle() {
      await Promise.allSettled(writing.values());
      for (;;) {
        if (stopped || waiting.size === 0) break;
        await write([...waiting.keys()], AT_ONCE);
      }
      await telling;
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await Promise.allSettled(writing.values());
      await telling;
    },
  };
}

/**
 * Returns the sequence of the last event before the waiting events, or of the last event of the log if no events wait.
 */
function firstOf(head: Head, { events }: Waiting): number {
  return events[0] ? events[0].sequence - 1 : head.last;
}

/** Returns the changes of the documents. `events` are the last events of the log. */
function composed(head: Head, log: LoadedLog, events: readonly Event[]): AgentDocuments {
  return documentsOf(head, log, { events, whole: false, since: (events[0]?.sequence ?? head.last + 1) - 1 });
}

function composedAgain(
  head: Head,
  log: LoadedLog,
  { events, from, touched }: { events: readonly Event[]; from: number; touched: ReadonlySet<string> },
): AgentDocuments {
  const theirs = events.filter((event) => touched.has(String((event.data as { run_id?: unknown }).run_id)));
  return { ...documentsOf(head, log, { events: theirs, whole: true, since: from }), anew: from === 0 };
}

function documentsOf(
  head: Head,
  { tables, documentState }: LoadedLog,
  { events, whole, since }: { events: readonly Event[]; whole: boolean; since: number },
): AgentDocuments {
  const byRun = Map.groupBy(events.flatMap(actionsOf), ({ run_id }) => run_id);
  const config = since === head.last && !whole ? undefined : configDocument(tables, documentState);
  const ended = tables.runs.filter(({ run }) => (run.last_sequence ?? 0) > since);
  return {
    anew: false,
    runs: [...byRun].map(([runId, actions]) => {
      const before = whole ? 0 : (documentState.actions.get(runId) ?? 0) - actions.length;
      return { runId, whole, text: actions.map((action, i) => actionLine(action, before + i + 1)).join("") };
    }),
    conversations: ended.flatMap(({ run }) => {
      const document = conversationDocument(run, documentState);
      return document ? [{ number: run.number, text: documentText(document) }] : [];
    }),
    config: config && documentText(config),
    isFolded: documentState.state !== undefined,
    ended: tables.session.total_turns,
    sequence: head.last,
  };
}
