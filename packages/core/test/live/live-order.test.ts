import type { DraftPiece, Event } from "@skein/protocol";
import { expect, test } from "vitest";
import { createLiveOrder } from "../../src/live/live-order.ts";

const fact = (event_type: Event["event_type"], data: object): Event => ({ event_type, data }) as Event;
const began = fact("session.started", { run_id: "r" });
const started = (step: number, attempt = 1): Event => fact("step.started", { run_id: "r", step, attempt });
const generated = (step: number, results: string | null = null): Event =>
  fact("step.generated", { run_id: "r", step, purpose: "step", message_id: `m${step}`, results_message_id: results });
const entered = (message_id: string, step: number): Event => fact("message.created", { message_id, step });
const ended = fact("session.completed", { run_id: "r" });
const piece = (step: number, more: Partial<DraftPiece> = {}): DraftPiece => ({
  session_id: "s",
  run_id: "r",
  step,
  attempt: 1,
  message_id: `m${step}`,
  offset: 0,
  event: { type: "content_block_delta" },
  ...more,
});
const unannounced = (step: number): DraftPiece => piece(step, { isUnannounced: true });

test.each([
  ["a step speaks once the log has told that it began", [began, started(1)], piece(1), true],
  ["and not before", [began], piece(1), false],
  ["nor while the log is at the step before", [began, started(1), generated(1)], piece(2), false],
  ["nor another attempt", [began, started(1)], piece(1, { attempt: 2 }), false],
  ["nor another run", [began, started(1)], piece(1, { run_id: "other" }), false],
  ["nor after the fact that says it all", [began, started(1), generated(1)], piece(1), false],
  ["nor an attempt that was given up", [began, started(1), started(1, 2)], piece(1), false],
  ["nor after its run", [began, started(1), ended], piece(1), false],
  ["a step that is not announced speaks when its run has begun", [began], unannounced(1), true],
  ["or when the one before it has said all", [began, generated(1), entered("m1", 1)], unannounced(2), true],
  ["and not while that one waits for results", [began, generated(1, "t1"), entered("m1", 1)], unannounced(2), false],
  ["until they are there", [began, generated(1, "t1"), entered("m1", 1), entered("t1", 1)], unannounced(2), true],
])("%s", (_, facts, shown, expected) => {
  const order = createLiveOrder();
  order.piece(shown);
  for (const one of facts) order.fact(one);
  expect(order.due()).toEqual(expected ? [shown] : []);
});

test("what waited comes together, and once", () => {
  const order = createLiveOrder();
  order.fact(began);
  const text = [piece(1), piece(1, { offset: 3 })];
  for (const one of text) order.piece(one);
  expect(order.due()).toEqual([]);
  order.fact(started(1));
  expect(order.due()).toEqual(text);
  expect(order.due()).toEqual([]);
});

test("whoever joins in the middle of a run is shown the step that is being made, and from the next one on waits for its beginning", () => {
  const order = createLiveOrder();
  order.piece(piece(3));
  expect(order.due()).toEqual([]);
  order.joined("r");
  expect(order.due()).toEqual([piece(3)]);
  order.fact(generated(3));
  order.piece(piece(4));
  expect(order.due()).toEqual([]);
  order.fact(started(4));
  expect(order.due()).toEqual([piece(4)]);
});

test("whoever joins while nothing is under way waits for what comes", () => {
  const order = createLiveOrder();
  order.joined(null);
  order.piece(piece(1));
  expect(order.due()).toEqual([]);
});
