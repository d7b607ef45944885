import type { DraftPiece, Event } from "@skein/protocol";
import { sameAttempt } from "./live.ts";

/**
 * Decides when a draft piece (a part of a model's answer while it is written) may be shown, from the facts that were
 * shown so far.
 */
export interface LiveOrder {
  /** Call when the reader has received this fact. */
  fact(event: Event): void;
  piece(piece: DraftPiece): void;
  /**
   * Call this at the end of the log if the reader began in the middle of the current step. `runId` is the run in
   * progress.
   */
  joined(runId: string | null): void;
  /** Pieces of one attempt that may be shown now. */
  due(): readonly DraftPiece[];
}

/**
 * Pieces come directly from the model. Facts come through the store and may arrive later. So a piece waits until the
 * facts before it were shown: otherwise the text of a step would appear before the tool results that it refers to.
 * Pieces that arrive after the fact with the whole text are dropped.
 */
export function createLiveOrder(): LiveOrder {
  let attempts: DraftPiece[][] = [];
  let run: string | undefined;
  /** The step that has begun; undefined until a fact reports it. */
  let begun: { readonly step: number; readonly attempt: number } | undefined;
  /** How many steps of the run are complete. A step is complete when the results of its calls are stored. */
  let whole = 0;
  /** Whether the reader began after the first facts of the current step. */
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
