export * from "./agents.ts";
export * from "./answers.ts";
export * from "./append-rules.ts";
export * from "./bus.ts";
export * from "./bus-live.ts";
export * from "./bus-nudges.ts";
export * from "./bus-shown.ts";
export * from "./claude-agent.ts";
export * from "./content-problem.ts";
export * from "./counters.ts";
export * from "./derived-id.ts";
export * from "./display-text.ts";
export * from "./estimate-tokens.ts";
export * from "./fold.ts";
export * from "./followers.ts";
export type { ForkOptions } from "./fork.ts";
export * from "./formatters/index.ts";
export * from "./live.ts";
export * from "./follow-live.ts";
export * from "./live-items.ts";
export * from "./loop/decide.ts";
export type { Decision, Effect, View } from "./loop/decision.ts";
export * from "./loop/drive.ts";
export * from "./loop/perform.ts";
export * from "./loop/request.ts";
export * from "./memory-records.ts";
export * from "./memory-store.ts";
export * from "./memory-tables.ts";
export * from "./message-rows.ts";
export * from "./model.ts";
export * from "./move-store.ts";
export * from "./parsed.ts";
export * from "./platform-status.ts";
export * from "./ports.ts";
export * from "./projection.ts";
export * from "./records.ts";
export { brokeEnd, outOfMoney } from "./run/budget.ts";
export { type Batch, type DriverLog, type DriverLogDeps, type MakeFacts, createDriverLog } from "./run/driver-log.ts";
export {
  type FactOf,
  awaitOpened,
  awaitResolved,
  checkpointCreated,
  completedCall,
  hookCalled,
  messageCreated,
  messageEntered,
  observedStep,
  rewindCompleted,
  runCompleted,
  runFailed,
  runResumed,
  runStarted,
  runtimeNoticed,
  runtimeStarted,
  stepAbandoned,
  stepRetried,
  subagentMessaged,
  toolClosed,
  toolStarted,
  transcriptAppended,
} from "./run/facts/index.ts";
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
export * from "./runtime.ts";
export { promptAccepted, sessionCreated } from "./session-facts.ts";
export * from "./session-list.ts";
export * from "./sessions.ts";
export * from "./state-cache.ts";
export * from "./state.ts";
export * from "./store.ts";
export * from "./subagents.ts";
export * from "./tool.ts";
export * from "./usage.ts";
