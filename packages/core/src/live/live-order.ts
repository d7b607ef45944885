import type { DraftPiece, Event } from "@skein/protocol";
import { sameAttempt } from "./live.ts";

/** When a piece may be shown, beside the facts that were shown so far. */
export interface LiveOrder {
  /** The reader has this fact. */
  fact(event: Event): void;
  piece(piece: DraftPiece): void;
  /** The reader is at the end of the log, in this run, and has not seen how its step began. */
  joined(runId: string | null): void;
  /** Pieces of one attempt that may be shown now. */
  due(): readonly DraftPiece[];
}

/**
 * Pieces come straight from the model, facts by way of the store, which may tell later. So a piece waits until the log has
 * told what comes before it: without this a step would speak before the calls that it speaks about are shown. What comes
 * after the fact that says it all is left out.
 */
export function createLiveOrder(): LiveOrder {
  let attempts: DraftPiece[][] = [];
  let run: string | undefined;
  /** The step that has begun; undefined until the log tells of one. */
  let begun: { readonly step: number; readonly attempt: number } | undefined;
  /** How many steps of the run are whole, with the results of their calls. */
  let whole = 0;
  /** The log has told of the current step before the reader came. */
  let isBlind = false;
  let generated: { readonly message: string; readonly last: string } | undefined;
  let over: string | undefined;

  function isLate({ run_id, step, attempt, message_id }: DraftPiece): boolean {
    if (run_id === over || message_id === generated?.message) return true;
    if (run_id !== run || !begun) return false;
    return step < begun.step || (step === begun.step && attempt < begun.attempt);
  }

  function isDue({ run_id, step, attempt, isUnannounced }: DraftPiece): boolean {
    if (run_id !== run) return false;
    if (isBlind) return true;
    return isUnannounced ? step <= whole + 1 : step === begun?.step && attempt === begun.attempt;
  }

  function enter(runId: string): void {
    isBlind = false;
    if (run === runId) return;
    run = runId;
    begun = undefined;
    whole = 0;
  }

  return {
    fact({ event_type, data }) {
      if (event_type === "session.started") enter(data.run_id);
      if (event_type === "session.completed" || event_type === "session.failed") over = data.run_id;
      if (event_type === "message.created" && data.message_id === generated?.last) whole = data.step;
      if (event_type === "step.started") {
        enter(data.run_id);
        begun = data;
      }
      if (event_type !== "step.generated" || (data.purpose !== "step" && data.purpose !== "summary")) return;
      enter(data.run_id);
      whole = data.step - 1;
      generated = { message: data.message_id, last: data.results_message_id ?? data.message_id };
    },
    piece(piece) {
      const last = attempts.at(-1);
      if (last && sameAttempt(last[0], piece)) last.push(piece);
      else attempts.push([piece]);
    },
    joined(runId) {
      if (run !== undefined || runId === null) return;
      run = runId;
      isBlind = true;
    },
    due() {
      attempts = attempts.filter(([first]) => first && !isLate(first));
      const at = attempts.findIndex(([first]) => first && isDue(first));
      return at === -1 ? [] : (attempts.splice(at, 1)[0] ?? []);
    },
  };
}
