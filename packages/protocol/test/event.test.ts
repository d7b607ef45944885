import { describe, expect, test } from "vitest";
import { Draft } from "../src/draft.ts";
import { Event, FACTS, type FactType, isFactType, needsLease } from "../src/event.ts";
import { KnownError, isKnownError } from "../src/known-error.ts";
import { NO_USAGE, addUsage } from "../src/usage.ts";

const id = "01890000-0000-7000-8000-00000000000a";

const event = {
  id,
  session_id: id,
  sequence: 1,
  event_type: "title.generated",
  data: { title: "A title" },
  created_at: "2026-01-07T12:00:00.000Z",
};

/** Lists who may append each fact. A new fact needs a line here. */
const APPENDED_BY: Readonly<Record<FactType, "anyone" | "driver">> = {
  "session.created": "anyone",
  "session.edited": "anyone",
  "message.copied": "anyone",
  "prompt.accepted": "anyone",
  "cancel.requested": "anyone",
  "await.answered": "anyone",
  "session.started": "driver",
  "run.resumed": "driver",
  "message.created": "driver",
  "title.generated": "driver",
  "steps.exhausted": "driver",
  "session.completed": "driver",
  "session.failed": "driver",
  "checkpoint.created": "driver",
  "transcript.appended": "driver",
  "control.requested": "anyone",
  "rewind.requested": "anyone",
  "rewind.completed": "driver",
  "runtime.started": "driver",
  "runtime.noticed": "driver",
  "subagent.messaged": "driver",
  "hook.called": "driver",
  "step.started": "driver",
  "step.generated": "driver",
  "step.retried": "driver",
  "step.error": "driver",
  "step.abandoned": "driver",
  "tool.started": "driver",
  "tool.completed": "driver",
  "await.opened": "driver",
  "await.resolved": "driver",
  "answer.validated": "driver",
  "transcript.repaired": "driver",
  "parent.informed": "driver",
  "memory.retrieved": "driver",
  "memory.updated": "driver",
  "memory.saved": "driver",
  "memory.restored": "driver",
  "compaction.checked": "driver",
  "file.generated": "driver",
  "file.downloaded": "driver",
  "file.stored": "driver",
  "file.failed": "driver",
};

test.each(Object.entries(APPENDED_BY))("%s is appended by %s", (type, by) => {
  expect(needsLease(type as FactType)).toBe(by === "driver");
});

test("a type that is not in the list of facts is not a fact type", () => {
  expect(Object.keys(FACTS).toSorted()).toEqual(Object.keys(APPENDED_BY).toSorted());
  for (const type of ["step.generating", "message.delta", "constructor", "__proto__", ""])
    expect(isFactType(type)).toBe(false);
});

describe("the data of an event must fit the schema of its fact", () => {
  test("a complete event passes, with its data unchanged", () => {
    expect(Event.parse(event)).toEqual(event);
    const data = { content: "yes", tool_use_id: "t", is_error: false };
    expect(JSON.stringify(Event.parse({ ...event, event_type: "await.answered", data }).data)).toBe(
      JSON.stringify(data),
    );
  });

  test.each([
    ["an unknown type", { event_type: "session.exploded" }, "event_type"],
    ["a draft", { event_type: "step.generating" }, "event_type"],
    ["a type named like a property of every object", { event_type: "constructor" }, "event_type"],
    ["data that does not fit", { data: { title: 5 } }, "data.title"],
    ["no data", { data: undefined }, "data"],
    ["sequence 0", { sequence: 0 }, "sequence"],
    ["a sequence with a fraction", { sequence: 1.5 }, "sequence"],
    ["an invalid id", { id: "run-001" }, "id"],
    ["a time without a zone", { created_at: "2026-01-07T12:00:00" }, "created_at"],
  ])("%s is rejected, and the error has its path", (_, change, place) => {
    const { error } = Event.safeParse({ ...event, ...change });
    expect(error?.issues[0]?.path.join(".")).toBe(place);
  });
});

test.each([
  ["step.generating", {}],
  ["message.delta", { kind: "thinking" }],
])("a draft %s has an offset and a delta, and no sequence", (event_type, more) => {
  const text = { session_id: id, run_id: id, step: 1, attempt: 1, message_id: id, offset: 0, delta: "The answer" };
  const data = { ...text, ...more };
  expect(Draft.parse({ event_type, data, sequence: 5 })).toEqual({ event_type, data });
  expect(Draft.safeParse({ event_type, data: { ...data, offset: -1 } }).success).toBe(false);
});

test("a KnownError has a code and a sentence, and may have details", () => {
  const error = new KnownError("conflict", "It moved.", { details: { expected: 1 }, cause: "why" });
  expect(error).toMatchObject({ name: "KnownError", code: "conflict", message: "It moved.", cause: "why" });
  expect(isKnownError(error)).toBe(true);
  expect(isKnownError(error, "not_found", "conflict")).toBe(true);
  expect(isKnownError(error, "not_found")).toBe(false);
  expect(isKnownError(new Error("It moved."))).toBe(false);
});

test("adding usages treats a missing counter as 0", () => {
  const once = addUsage(NO_USAGE, { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 4 });
  expect(addUsage(once, { input_tokens: 1, output_tokens: 0, cache_creation_input_tokens: null })).toEqual({
    input_tokens: 2,
    output_tokens: 2,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 4,
  });
  expect(NO_USAGE.input_tokens).toBe(0);
});
