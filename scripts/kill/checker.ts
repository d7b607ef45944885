/**
 * This process checks a store whose writer was killed: it opens the store, repeats the operations that got no answer,
 * and reports what is lost, repeated or wrong.
 *
 * `npm run kill` and `npm run powercut` start it with { store, place, journals, whole } as JSON. It prints a Verdict as
 * JSON.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@skein/core";
import { type Act, type History, type Operation as Told, type StoredSession, checkHistory } from "@skein/core/testing";
import { textOf } from "@skein/protocol";
import { checkDeleted, checkPlaces, checkRecords, checkTotals } from "./checks.ts";
import { TENANT } from "./facts.ts";
import { type Operation, readJournal } from "./journal.ts";
import { type Place, type StoreName, openStore } from "./open-store.ts";
import { repeatAfterCrash } from "./repeat-after-crash.ts";

export interface CheckTask {
  readonly store: StoreName;
  readonly place: Place;
  /** The journals of the killed processes, oldest first. */
  readonly journals: readonly string[];
  /** If true, the store must contain nothing except what the journals mention. */
  readonly whole: boolean;
}

export interface Verdict {
  readonly openMs: number;
  readonly sessions: number;
  readonly events: number;
  readonly acknowledged: number;
  /** How many operations had no answer. `happened` says how many of these operations are stored. */
  readonly unanswered: number;
  readonly happened: number;
  /** Journal lines with the outcomes of the operations that had no answer. */
  readonly repeated: readonly string[];
  readonly violations: readonly string[];
}

const task = JSON.parse(process.argv[2] ?? "{}") as CheckTask;
const violations: string[] = [];
const wrong = (sentence: string): void => void violations.push(sentence);

const started = performance.now();
const store = await openStore(task.store, task.place);
const openMs = performance.now() - started;

const journals = task.journals.map(readJournal);
for (const told of journals.flatMap((journal) => journal.wrong)) wrong(told);
const operations = journals.flatMap((journal) => journal.operations);
for (const { kind, answer } of operations)
  if (answer?.is === "refused")
    wrong(`A ${kind} was rejected with ${answer.code}, but no operation of these writers may be rejected.`);

const open = operations.filter(({ answer }) => !answer || answer.is === "unknown");
// A database server may still be executing the last request of a killed process.
if (task.store === "postgres") await sleep(100);
const repeated = await repeatAfterCrash(store, { open, operations, wrong });

const sessions = await readSessions(store, operations);
for (const violation of checkHistory(historyOf(sessions, operations)))
  wrong(`${violation.invariant}: ${violation.sentence} ${JSON.stringify(violation.evidence).slice(0, 400)}`);
checkPlaces(sessions, operations, wrong);
await checkDeleted(store, operations, wrong);
await checkRecords(store, operations, wrong);
if (task.whole) await checkTotals(store, sessions, wrong);
await store.close();

const verdict: Verdict = {
  openMs,
  sessions: sessions.length,
  events: sessions.reduce((sum, { events }) => sum + events.length, 0),
  acknowledged: operations.filter(({ answer }) => answer?.is === "ok").length,
  unanswered: open.length,
  happened: repeated.filter(({ happened }) => happened).length,
  repeated: repeated.map(({ answer }) => JSON.stringify(answer)),
  violations: violations.slice(0, 50),
};
console.log(JSON.stringify(verdict));

/** Reads every existing session that the operations mention. */
async function readSessions(store: Store, operations: readonly Operation[]): Promise<StoredSession[]> {
  const ids = new Set(operations.filter(({ kind }) => kind !== "record").map(({ target }) => target));
  const found: StoredSession[] = [];
  for (const sessionId of ids) {
    const session = await store.get(sessionId);
    if (!session) continue;
    const [events, messages, runs] = [
      await store.read(sessionId),
      await everything((cursor) => store.messages(sessionId, { limit: 1000, ...cursor })),
      await everything((cursor) => store.runs(sessionId, { limit: 1000, ...cursor })),
    ];
    found.push({ sessionId, session, events, messages, runs: runs.toReversed() });
  }
  return found;
}

async function everything<Item>(
  page: (cursor: { cursor?: string }) => Promise<{ readonly items: readonly Item[]; readonly cursor: string | null }>,
): Promise<Item[]> {
  const all: Item[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const next = await page(cursor === undefined ? {} : { cursor });
    all.push(...next.items);
    cursor = next.cursor;
  }
  return all;
}

/** Converts sessions and operations for `checkHistory`. */
function historyOf(sessions: readonly StoredSession[], operations: readonly Operation[]): History {
  const clients = ["create", "prompt", "edit", "delete"];
  return {
    operations: operations.filter(({ kind }) => clients.includes(kind)).map(toldOf),
    sessions,
    acts: operations.flatMap(actOf),
    effects: null,
    modelCalls: null,
    streams: [],
    errors: [],
    mustFinish: false,
  };
}

function toldOf({ kind, target, events, key, answer }: Operation): Told {
  const [event] = events ?? [];
  const prompt = event?.event_type === "prompt.accepted" ? event.data : undefined;
  const title = event?.event_type === "session.created" ? event.data.title : null;
  return {
    client: TENANT,
    kind: kind as Told["kind"],
    outcome: answer?.is === "never" ? "refused" : (answer?.is ?? "unknown"),
    key: key?.id ?? null,
    text: prompt ? textOf(prompt.content) : title,
    sessionId: target,
    messageId: prompt?.message_id ?? null,
    sequence: answer?.is === "ok" ? (answer.first ?? null) : null,
  };
}

function actOf({ lease, events = [], answer }: Operation): Act[] {
  if (!lease || answer?.is !== "ok" || answer.first === undefined) return [];
  const { sessionId, owner, fence } = lease;
  const last = answer.first + events.length - 1;
  return [{ kind: "append", at: 0, sessionId, owner, fence, until: 0, first: answer.first, last }];
}
