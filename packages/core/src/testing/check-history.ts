import { checkAuthority } from "./check-history/authority.ts";
import { checkEffects } from "./check-history/effects.ts";
import type { History, Report, Violation } from "./check-history/history.ts";
import { checkLogs } from "./check-history/logs.ts";
import { checkOperations } from "./check-history/operations.ts";
import { checkRows } from "./check-history/rows.ts";
import { checkStreams } from "./check-history/streams.ts";
import { checkTranscripts } from "./check-history/transcripts.ts";

export type * from "./check-history/history.ts";

/**
 * Returns the violations of these invariants in a history.
 *
 * | id  | invariant | where |
 * |-----|-----------|-------|
 * | I1  | no acknowledged operation is lost | operations |
 * | I2  | no prompt and no event is stored twice | operations, logs |
 * | I3  | the sequences of events, and those of messages, are 1..n | logs, rows |
 * | I4  | a reader never sees n+1 before n | streams |
 * | I5  | at most one worker may write: the fences (lease numbers) of accepted writes never decrease | authority |
 * | I6  | at most one run at a time in a session | logs, rows |
 * | I7  | a run ends exactly once and never changes afterwards | logs, rows |
 * | I8  | a `once` call takes effect at most once; a success has an effect; no effect precedes `tool.started` | effects |
 * | I9  | every tool_use has one tool_result in the next message | transcripts |
 * | I10 | every stream and every row equals the log | streams, rows |
 * | I11 | resuming at any place yields exactly the rest | streams |
 * | I12 | every model call is counted once | logs, effects, rows |
 * | I13 | a cancelled run begins nothing new | logs |
 * | I14 | a fork copies a prefix of its parent; the parent is unchanged | transcripts |
 * | I16 | after the faults every accepted prompt is read and every run ends (only with `mustFinish`) | logs |
 * | bug | an operation or a process reported an unexpected error | here |
 */
export function checkHistory(history: History): readonly Violation[] {
  const violations: Violation[] = [];
  const report: Report = (invariant, sentence, evidence) => violations.push({ invariant, sentence, evidence });
  for (const error of history.errors) report("bug", `Unexpected error: ${error}`, {});
  checkOperations(history, report);
  checkLogs(history, report);
  checkRows(history, report);
  checkAuthority(history, report);
  checkEffects(history, report);
  checkTranscripts(history, report);
  checkStreams(history, report);
  return violations;
}
