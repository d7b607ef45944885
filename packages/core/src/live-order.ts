import type { Event, FactData } from "@skein/protocol";
import type { LiveFrame } from "./live.ts";

/** Two sources of one story, told in its order. */
export interface LiveOrder {
  fact(event: Event): void;
  /** A piece of a step. It waits until the log has said that its step began. */
  frame(frame: LiveFrame): void;
}

/**
 * Frames come straight from the model, facts by way of the store, which may tell later: without this a step would speak
 * before the calls that it speaks about are shown.
 */
export function createLiveOrder(tell: (item: Event | LiveFrame) => void): LiveOrder {
  let begun: FactData<"step.started"> | undefined;
  let held: LiveFrame[] = [];

  return {
    fact(event) {
      tell(event);
      if (event.event_type !== "step.started") return;
      begun = event.data;
      const due = held.filter((frame) => isOf(frame, event.data));
      held = held.filter((frame) => frame.run_id !== event.data.run_id || frame.step > event.data.step);
      due.forEach(tell);
    },
    frame(frame) {
      if (begun && isOf(frame, begun)) tell(frame);
      else held.push(frame);
    },
  };
}

function isOf({ run_id, step, attempt }: LiveFrame, call: FactData<"step.started">): boolean {
  return run_id === call.run_id && step === call.step && attempt === call.attempt;
}
