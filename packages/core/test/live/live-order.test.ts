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
  ["pieces of a step are shown as soon as the log says that the step began", [began, started(1)], piece(1), true],
  ["pieces of a step are not shown before the log says that the step began", [began], piece(1), false],
  [
    "pieces of a step are not shown while the log is at the previous step",
    [began, started(1), generated(1)],
    piece(2),
    false,
  ],
  ["pieces of another attempt are not shown", [began, started(1)], piece(1, { attempt: 2 }), false],
  ["pieces of another run are not shown", [began, started(1)], piece(1, { run_id: "other" }), false],
  [
    "pieces of a step are not shown after the fact with the whole text",
    [began, started(1), generated(1)],
    piece(1),
    false,
  ],
  ["pieces of an abandoned attempt are not shown", [began, started(1), started(1, 2)], piece(1), false],
  ["pieces are not shown after the end of their run", [began, started(1), ended], piece(1), false],
  ["pieces of a step without a start fact are shown when the run has begun", [began], unannounced(1), true],
  [
    "pieces of a step without a start fact are shown when the previous step is complete",
    [began, generated(1), entered("m1", 1)],
    unannounced(2),
    true,
  ],
  [
    "pieces of a step without a start fact wait while the previous step waits for results",
    [began, generated(1, "t1"), entered("m1", 1)],
    unannounced(2),
    false,
  ],
  [
    "pieces of a step without a start fact are shown when the results are stored",
    [began, generated(1, "t1"), entered("m1", 1), entered("t1", 1)],
    unannounced(2),
    true,
  ],
])("draft %s", (_, facts, shown, expected) => {
  const order = createLiveOrder();
  order.piece(shown);
  for (const one of facts) order.fact(one);
  expect(order.due()).toEqual(expected ? [shown] : []);
});

test("draft pieces that arrived before their step began are shown together and only once", () => {
  const order = createLiveOrder();
  order.fact(began);
  const text = [piece(1), piece(1, { offset: 3 })];
  for (const one of text) order.piece(one);
  expect(order.due()).toEqual([]);
  order.fact(started(1));
  expect(order.due()).toEqual(text);
  expect(order.due()).toEqual([]);
});

test("a reader that joins in the middle of a run sees the current step, and later steps from their beginning", () => {
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

test("a reader that joins an idle session waits for the next run", () => {
  const order = createLiveOrder();
  order.joined(null);
  order.piece(piece(1));
  expect(order.due()).toEqual([]);
});
