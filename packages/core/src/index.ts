export * from "./sessions/agents.ts";
export * from "./sessions/answers.ts";
export * from "./log/append-rules.ts";
export * from "./ports/bus.ts";
export * from "./live/bus-live.ts";
export * from "./live/bus-nudges.ts";
export * from "./live/bus-shown.ts";
export * from "./sessions/claude-agent.ts";
export * from "./sessions/content-problem.ts";
export * from "./log/counters.ts";
export * from "./sessions/derived-id.ts";
export * from "./log/display-text.ts";
export * from "./log/estimate-tokens.ts";
export * from "./log/fold.ts";
export * from "./log/followers.ts";
export type { ForkOptions } from "./sessions/fork.ts";
export * from "./formatters/index.ts";
export * from "./live/live.ts";
export { followLive } from "./live/follow-live.ts";
export * from "./loop/decide.ts";
export type { Decision, Effect, View } from "./loop/decision.ts";
export * from "./loop/drive.ts";
export * from "./loop/perform.ts";
export * from "./loop/request.ts";
export * from "./memory-store/memory-records.ts";
export * from "./memory-store/memory-store.ts";
export * from "./memory-store/memory-tables.ts";
export * from "./log/message-rows.ts";
export * from "./ports/model.ts";
export * from "./sessions/move-store.ts";
export * from "./sessions/parsed.ts";
export * from "./sessions/platform-status.ts";
export * from "./ports/agent-memory.ts";
export * from "./log/projection.ts";
export * from "./log/row-changes.ts";
export * from "./ports/records.ts";
export { openAwaits } from "./run/open-awaits.ts";
export { type RunWatch, type SeenRun, type WatchedRun, isOfRun, watchRun } from "./run/watch-run.ts";
export { brokeEnd, outOfMoney } from "./run/budget.ts";
export { type Batch, type DriverLog, type DriverLogDeps, type Make, createDriverLog } from "./run/driver-log.ts";
export * from "./run/facts/index.ts";
export {
  type MissingResult,
  type RunEnd,
  LOST_RESULT,
  cancellation,
  costOf,
  endWith,
  finalResponse,
  finalText,
  forcedEnd,
  isCancelled,
  nextPrompt,
  resultAtEnd,
  stopReasonOf,
} from "./run/rules.ts";
export * from "./ports/runtime.ts";
export * from "./ports/engine.ts";
export * from "./run/runtimes.ts";
export * from "./ports/timers.ts";
export * from "./ports/file-store.ts";
export * from "./ports/subagents.ts";
export * from "./sessions/session-facts.ts";
export * from "./sessions/session-list.ts";
export * from "./sessions/sessions.ts";
export type { Accepted } from "./sessions/accepted-prompt.ts";
export * from "./log/state-cache.ts";
export * from "./log/state.ts";
export * from "./ports/store.ts";
export * from "./sessions/subagents.ts";
export * from "./ports/tool.ts";
export * from "./sessions/usage.ts";
