import { createMemoryStore } from "@skein/core";
import {
  type Act,
  type History,
  type Invariant,
  type StoredSession,
  checkHistory,
  createScript,
} from "@skein/core/testing";
import { type Event, type FactData, createIds } from "@skein/protocol";
import { beforeAll, describe, expect, test } from "vitest";

/** A copy that the test may change. */
type Draft<Value> = { -readonly [Key in keyof Value]: Draft<Value[Key]> };

/**
 * Returns the history of a session with one tool call, and of its fork. Clients got every response, and readers got
 * every event.
 */
async function goodHistory(): Promise<History> {
  const store = createMemoryStore({ now: () => 1000 });
  const ids = createIds({ now: () => 1000 });
  const script = createScript({ store, ids });
  await script.create({ title: "create 1" });
  await script.toolTurn("prompt 1");
  const { sessionId } = script;
  const events = corrected(await store.read(sessionId));
  const reply = events.flatMap((event) => (event.event_type === "step.generated" ? [event.data] : []));
  const prompt = events.find((event) => event.event_type === "prompt.accepted");
  const fork = createScript({ store, ids });
  await fork.create({ title: "create 1", parent: { session_id: sessionId, sequence: events.length } });
  const copy = { message_id: ids(), role: "user", content: "prompt 1" } as const;
  await fork.append([{ event_type: "message.copied", data: copy }]);
  const stored = async (id: string): Promise<StoredSession> => {
    const session = await store.get(id);
    if (!session) throw new Error("The session that the test created is missing.");
    const runs = (await store.runs(id)).items.toReversed();
    const log = corrected(await store.read(id));
    return { sessionId: id, session, runs, events: log, messages: (await store.messages(id)).items };
  };
  const act = (kind: Act["kind"], place: Pick<Act, "first" | "last"> = {}): Act => ({
    kind,
    at: 1000,
    sessionId,
    owner: "script",
    fence: 1,
    until: 61_000,
    ...place,
  });
  const said = { client: "c", outcome: "ok", key: "k", messageId: null, sequence: null } as const;
  return {
    operations: [
      { ...said, kind: "create", text: "create 1", sessionId },
      { ...said, kind: "prompt", text: "prompt 1", sessionId, messageId: prompt?.data.message_id ?? null, sequence: 2 },
    ],
    sessions: [await stored(sessionId), await stored(fork.sessionId)],
    acts: [act("claim"), act("append", { first: 3, last: events.length }), act("release")],
    effects: events.flatMap((event) =>
      event.event_type === "tool.started"
        ? [{ at: 1000, sessionId, toolUseId: event.data.tool_use_id, policy: "once" as const, by: "script" }]
        : [],
    ),
    modelCalls: reply.map(({ run_id, step, usage }) => ({
      at: 1000,
      sessionId,
      runId: run_id,
      step,
      messages: [{ role: "user", content: "prompt 1" }],
      usage,
    })),
    streams: [
      { reader: "r", sessionId, after: 0, events: corrected(events), complete: true },
      { reader: "r", sessionId, after: 4, events: corrected(events.slice(4)), complete: true },
    ],
    errors: [],
    mustFinish: true,
  };
}

/**
 * Returns a copy with the right totals at the end of the run. This is needed because the script does not add the tokens
 * of the cache to these totals.
 */
function corrected(events: readonly Event[]): Event[] {
  const copy = structuredClone(events) as Event[];
  for (const event of copy)
    if (event.event_type === "session.completed")
      Object.assign(event.data.usage, { cache_creation_input_tokens: 400, cache_read_input_tokens: 800 });
  return copy;
}

let good: History;
beforeAll(async () => {
  good = await goodHistory();
});

const found = (history: History): Invariant[] => [...new Set(checkHistory(history).map(({ invariant }) => invariant))];

test("a history that keeps every invariant has no violation", () => {
  expect(checkHistory(good)).toEqual([]);
});

test("a violation says in a sentence what was broken, and has evidence", () => {
  const history = changed((draft) => void at(draft.streams, 0).events.splice(2, 1));
  const [violation] = checkHistory(history);
  expect(violation).toMatchObject({ invariant: "I4", evidence: { after: 0 } });
  expect(violation?.sentence).toMatch(/saw event 4 of session .* where 3 was expected\.$/);
});

function changed(change: (draft: Draft<History>) => void): History {
  const draft = structuredClone(good) as Draft<History>;
  change(draft);
  return draft;
}

function at<Item>(items: readonly Item[] | null, index: number): Item {
  const item = items?.[index];
  if (item === undefined) throw new Error(`The good history has no item ${index}.`);
  return item;
}

const eventsOf = (draft: Draft<History>) => at(draft.sessions, 0).events;

function dataOf<Type extends Event["event_type"]>(draft: Draft<History>, type: Type): Draft<FactData<Type>> {
  const event = eventsOf(draft).find(({ event_type }) => event_type === type);
  if (!event) throw new Error(`The good history has no event of the type ${type}.`);
  return event.data as Draft<FactData<Type>>;
}

/** Inserts an event into the log and renumbers the events after it. */
function insert(draft: Draft<History>, place: number, event: object): void {
  const events = eventsOf(draft);
  events.splice(place, 0, { ...events[0], ...event, id: `new ${place}` } as Draft<Event>);
  for (const [index, moved] of events.entries()) moved.sequence = index + 1;
}

const cases: [Invariant, string, (draft: Draft<History>) => void][] = [
  ["I1", "an acknowledged prompt is lost", (draft) => void (dataOf(draft, "prompt.accepted").content = "other")],
  ["I1", "an acknowledged session is lost", (draft) => void draft.sessions.splice(0, 1)],
  [
    "I1",
    "a deleted session still exists",
    (draft) => void draft.operations.push({ ...at(draft.operations, 0), kind: "delete" }),
  ],
  [
    "I2",
    "a prompt is stored twice",
    (draft) => insert(draft, 2, { event_type: "prompt.accepted", data: dataOf(draft, "prompt.accepted") }),
  ],
  ["I2", "an event is stored twice", (draft) => void (at(eventsOf(draft), 3).id = at(eventsOf(draft), 2).id)],
  ["I3", "a sequence has a gap", (draft) => void eventsOf(draft).splice(4, 1)],
  ["I3", "two events have the same number", (draft) => void (at(eventsOf(draft), 4).sequence = 4)],
  ["I3", "two messages have the same number", (draft) => void (at(at(draft.sessions, 0).messages, 1).sequence = 1)],
  ["I4", "a reader misses an event", (draft) => void at(draft.streams, 0).events.splice(3, 1)],
  [
    "I4",
    "a reader sees an event twice",
    (draft) => void at(draft.streams, 0).events.splice(3, 0, at(eventsOf(draft), 2)),
  ],
  [
    "I5",
    "a writer with an old fence writes after a writer with a new fence",
    (draft) => {
      const append = at(draft.acts, 1);
      draft.acts = [
        { ...append, fence: 2, first: 3, last: 5 },
        { ...append, fence: 1, first: 6, last: 99 },
      ];
    },
  ],
  [
    "I5",
    "a lease is granted while another worker has it",
    (draft) => void draft.acts.splice(1, 0, { ...at(draft.acts, 0), fence: 2, owner: "other" }),
  ],
  [
    "I5",
    "a worker that has lost the lease renews it",
    (draft) => void draft.acts.push({ ...at(draft.acts, 0), kind: "renew" }),
  ],
  ["I5", "a fact that needs a lease was written without a lease", (draft) => void (at(draft.acts, 1).last = 5)],
  [
    "I6",
    "a second run starts while one is in progress",
    (draft) => {
      const data = dataOf(draft, "session.started");
      insert(draft, 4, { event_type: "session.started", data: { ...data, run_id: "another" } });
    },
  ],
  [
    "I7",
    "a run ends twice",
    (draft) => insert(draft, 99, { event_type: "session.completed", data: dataOf(draft, "session.completed") }),
  ],
  [
    "I7",
    "a finished run changes",
    (draft) => insert(draft, 99, { event_type: "tool.completed", data: dataOf(draft, "tool.completed") }),
  ],
  [
    "I7",
    "the row of a session names a run that is not in progress",
    (draft) => void (at(draft.sessions, 0).session.run_id = "x"),
  ],
  ["I8", "a tool that may act once acts twice", (draft) => void draft.effects?.push(at(draft.effects, 0))],
  ["I8", "a tool acts without a stored intent", (draft) => void (dataOf(draft, "tool.started").tool_use_id = "x")],
  ["I8", "a tool acts before its intent is stored", (draft) => void (at(draft.effects, 0).at = 999)],
  ["I8", "a tool call is recorded as a success, but the tool did not act", (draft) => void (draft.effects = [])],
  [
    "I9",
    "a tool call has no result in the next message",
    (draft) => {
      const { content } = dataOf(draft, "step.generated");
      at(draft.modelCalls, 1).messages = [{ role: "assistant", content }];
    },
  ],
  [
    "I9",
    "a run ends with a tool call that has no result",
    (draft) => {
      const place = eventsOf(draft).findIndex(({ event_type }) => event_type === "tool.completed");
      eventsOf(draft).splice(place, eventsOf(draft).length - place - 1);
      insert(draft, 99, { event_type: "title.generated", data: { title: "t" } });
    },
  ],
  [
    "I10",
    "a reader sees an event that the store does not have",
    (draft) => void (at(at(draft.streams, 0).events, 1).id = "x"),
  ],
  ["I10", "a row differs from the log", (draft) => void (at(draft.sessions, 0).session.title = "x")],
  ["I11", "a resumed reader begins at the wrong place", (draft) => void at(draft.streams, 1).events.shift()],
  ["I11", "a reader that stays to the end misses the last event", (draft) => void at(draft.streams, 1).events.pop()],
  [
    "I12",
    "a model call is counted twice",
    (draft) => insert(draft, 7, { event_type: "step.generated", data: dataOf(draft, "step.generated") }),
  ],
  ["I12", "an answer that the model did not give is counted", (draft) => void draft.modelCalls?.pop()],
  [
    "I12",
    "a run reports a total that differs from its calls",
    (draft) => void (dataOf(draft, "session.completed").cost_micros = 1),
  ],
  [
    "I12",
    "the row of a session has another cost than its log",
    (draft) => void (at(draft.sessions, 0).session.cost_micros = 1),
  ],
  [
    "I13",
    "a tool starts after the run was cancelled",
    (draft) => {
      const { run_id } = dataOf(draft, "session.started");
      insert(draft, 5, { event_type: "cancel.requested", data: { run_id, reason: null } });
    },
  ],
  [
    "I13",
    "a run that was cancelled in the queue starts",
    (draft) => {
      const { run_id } = dataOf(draft, "session.started");
      insert(draft, 2, { event_type: "cancel.requested", data: { run_id, reason: null } });
    },
  ],
  [
    "I14",
    "a fork does not begin like its parent",
    (draft) => void Object.assign(at(at(draft.sessions, 1).events, 1).data, { content: "other" }),
  ],
  ["I16", "an accepted prompt is never read", (draft) => void eventsOf(draft).splice(2)],
  ["I16", "a run never ends", (draft) => void eventsOf(draft).pop()],
  ["bug", "an unexpected error is reported", (draft) => void draft.errors.push("out of range")],
];

describe("the checker finds", () => {
  test.each(cases)("the checker finds a violation of %s: %s", (invariant, _, change) => {
    expect(found(changed(change))).toContain(invariant);
  });
});

test("a run that has not ended is a violation only if every run had to end", () => {
  const history = changed((draft) => void eventsOf(draft).pop());
  expect(found({ ...history, mustFinish: false })).not.toContain("I16");
});

test("a client's operation without a response may have happened or not, but not twice", () => {
  const unknown = changed((draft) => {
    for (const operation of draft.operations) operation.outcome = "unknown";
    draft.operations.push({ ...at(draft.operations, 1), text: "prompt 2" });
  });
  expect(checkHistory(unknown)).toEqual([]);
});

test("a run may start a tool after an interrupting prompt that was cancelled before it was read", () => {
  const history = changed((draft) => {
    const prompt = dataOf(draft, "prompt.accepted");
    const interrupt = { ...prompt, run_id: "r2", message_id: "m2", mode: "interrupt", content: "prompt 2" };
    insert(draft, 5, { event_type: "prompt.accepted", data: interrupt });
    insert(draft, 6, { event_type: "cancel.requested", data: { run_id: "r2", reason: null } });
  });
  expect(found(history)).not.toContain("I13");
});
