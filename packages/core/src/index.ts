/** The exports of `@skein/core`. A name that no other package imports does not belong here. */

// The ports: interfaces that adapters implement.
export type { AgentMemory } from "./ports/agent-memory.ts";
export type { Bus, Shown } from "./ports/bus.ts";
export type { Telemetry, TelemetryAttributes, TelemetrySpan, TelemetryValue } from "./ports/telemetry.ts";
export type { Engine, EngineFactory } from "./ports/engine.ts";
export type { FileStore } from "./ports/file-store.ts";
export {
  type LeftOut,
  type Model,
  type ModelAbilities,
  type ModelCall,
  type ModelCatalog,
  type ModelReply,
  type PreparedCall,
  type Turn,
  EVERY_ABILITY,
  ModelFailure,
  onlyModel,
} from "./ports/model.ts";
export type { ReadRecords, RecordPut, RecordQuery, Records, StoredRecord } from "./ports/records.ts";
export { type Claimed, type LeaseClock, type Runtime, LEASE_LOST } from "./ports/runtime.ts";
export type {
  Sandbox,
  SandboxedEnd,
  SandboxedProcess,
  SandboxedProgram,
  SandboxLimits,
  SandboxPlace,
  HostGate,
  Workplace,
} from "./ports/sandbox.ts";
export type {
  Appended,
  AppendOptions,
  ChangedQuery,
  ChangedSession,
  Claim,
  ClaimOptions,
  DueQuery,
  DueSession,
  Lease,
  OpenAwaitsQuery,
  Page,
  PageOptions,
  SessionFilter,
  SessionQuery,
  SessionSummary,
  Snapshot,
  Store,
  TextPlace,
  ToolUsageQuery,
  UsageKey,
  UsageQuery,
} from "./ports/store.ts";
export { type Timers, LONGEST_SLEEP } from "./ports/timers.ts";
export { SKILL_TOOL, type Skill, createSkillTool } from "./ports/skill.ts";
export type { ToolResult } from "./ports/tool-result.ts";
export { type Tool, type ToolContext, type ToolOptions, defineTool, resultContent } from "./ports/tool.ts";

// Functions that all adapters of models use.
export { type AnswerStream, createAnswerStream } from "./model/answer-stream.ts";
export { callIdOf, createCallIds } from "./model/call-id.ts";
export { HOOK_NAMES, type HookContext, type HookedCall, type Hooks } from "./loop/hooks.ts";
export { createAnswerTeller } from "./model/answer-tool.ts";
export { askedOutput, isStrict } from "./model/output-format.ts";
export { type OutputCheck, type OutputSchema, jsonOutputCheck, misfitOf, outputCheck } from "./model/output-schema.ts";
export { carriedOver, carryOf } from "./model/carried-over.ts";
export { parsedOrUndefined } from "./model/parsed-json.ts";
export { createReply } from "./model/reply.ts";

// The log: append rules, fold, projections.
export {
  checkAppend,
  duplicateCheckpoint,
  keyReused,
  leaseLost,
  logMoved,
  sessionTaken,
  withPlaces,
  sessionNotFound,
  sessionUnreadable,
} from "./log/append-rules.ts";
export {
  type Counters,
  type RunCounters,
  COUNTERS,
  RUN_COUNTERS,
  costTotals,
  modelTotals,
  usageTotals,
} from "./log/counters.ts";
export { callIn } from "./log/counted-call.ts";
export { displayText } from "./log/display-text.ts";
export { estimateTokens } from "./log/estimate-tokens.ts";
export { fold, foldAll, snapshotOf } from "./log/fold.ts";
export { DUE_LIMIT, dueSessions } from "./log/due-sessions.ts";
export { type Followers, type Stretch, type StretchLimit, createFollowers } from "./log/followers.ts";
export { orphanedFiles } from "./sessions/orphaned-files.ts";
export { keepLargeTexts } from "./log/large-texts.ts";
export { rowsOf } from "./log/message-rows.ts";
export { project } from "./log/projection.ts";
export type { Changes, FileRow } from "./log/row-changes.ts";
export { isLargeJson, jsonPieces } from "./log/json-pieces.ts";
export { type StateCache, createStateCache } from "./log/state-cache.ts";
export {
  type CallState,
  type QueuedPrompt,
  type RunState,
  type SessionState,
  contextOf,
  emptyState,
  statusOf,
} from "./log/state.ts";

// A run: rules, facts, workers.
export { type WorkerInfo, type Workers, createWorkers, lacking, missingSkills } from "./run/workers.ts";
export { type Parking, createParking } from "./run/parking.ts";
export { type ArrivingAnswer, createArrivingAnswer } from "./run/arriving-answer.ts";
export { leftToSpend, outOfMoneyEnd, outOfMoney } from "./run/budget.ts";
export { type Batch, type DriverLog, type DriverLogDeps, createDriverLog, createEar } from "./run/driver-log.ts";
export { awaitOpened, awaitResolved, completedCall, toolClosed, toolStarted } from "./run/facts/call-facts.ts";
export { checkpointCreated, rewindCompleted } from "./run/facts/file-facts.ts";
export { messageCreated, messageEntered, transcriptAppended } from "./run/facts/message-facts.ts";
export type { FactOf } from "./run/facts/place.ts";
export { runCompleted, runFailed, runResumed, runStarted } from "./run/facts/run-facts.ts";
export { hookCalled, runtimeNoticed, runtimeStarted } from "./run/facts/runtime-facts.ts";
export { reservationFor } from "./log/reservations.ts";
export { observedStep, stepAbandoned, stepRetried, subagentMessaged } from "./run/facts/step-facts.ts";
export { openAwaits } from "./run/open-awaits.ts";
export {
  type MissingResult,
  type RunEnd,
  cancellation,
  costOf,
  endWith,
  finalResponse,
  finalText,
  forcedEnd,
  isCancelled,
  LOST_RESULT,
  nextPrompt,
  resultAtEnd,
  runToDrive,
  stopReasonOf,
} from "./run/rules.ts";
export { createRuntimes } from "./run/runtimes.ts";
export { type Opening, openingOf } from "./run/opening.ts";
export { type RunWatch, type SeenRun, type WatchDeps, type WatchedRun, isOfRun, watchRun } from "./run/watch-run.ts";

// The loop.
export { type AgentCode, type LoopDeps, createLoop } from "./loop/drive.ts";
export type { Validate } from "./loop/perform.ts";
export { callOf } from "./loop/request.ts";
export { createRequestParts } from "./loop/request-parts.ts";

// Drafts.
export { createBusLive } from "./live/bus-live.ts";
export { nudgeOthers } from "./live/bus-nudges.ts";
export { type Unserved, forgetServed, unservedSessions } from "./run/unserved.ts";
export { publishSessionStatus } from "./live/bus-session-status.ts";
export { followLive } from "./live/follow-live.ts";
export { type Live, createMemoryLive, createOffsets, draftsOf } from "./live/live.ts";

// Operations on sessions, agents and models.
export { checkAgentSettings } from "./sessions/agent-settings.ts";
export { type Agents, type SessionAgent, createAgents } from "./sessions/agents.ts";
export { type Models, type ReachedModel, createModels, shownModel } from "./sessions/models.ts";
export type { Answered } from "./sessions/answers.ts";
export { claudeAgent } from "./sessions/claude-agent.ts";
export { derivedId } from "./sessions/derived-id.ts";
export { type Moved, type MoveTarget, type MovingClock, moveStore } from "./sessions/move-store.ts";
export { parseInput } from "./sessions/parse-input.ts";
export { HIDDEN_PROMPT, withHiddenPrompts } from "./sessions/hidden-prompts.ts";
export { platformStatus } from "./sessions/platform-status.ts";
export { type ZoneShift, checkedTimeZone, zoneShifts } from "./sessions/zone-days.ts";
export { promptAccepted, sessionCreated } from "./sessions/session-facts.ts";
export { canWait, listOpenAwaits, type SessionAwaits } from "./sessions/await-list.ts";
export { listChanged } from "./sessions/changed-sessions.ts";
export { SUMMARY_TEXT } from "./sessions/session-summary.ts";
export { countSessions, listSessions, metadataPairs, nextSkip, skippedBy, sortKey } from "./sessions/session-list.ts";
export { type Sessions, type SessionsDeps, createSessions } from "./sessions/sessions.ts";
export { expiredSessions } from "./sessions/retention.ts";
export { createSubagents } from "./sessions/subagents.ts";
export { AROUND_TEXT, BEFORE_TEXT, MOST_PLACES, jsonText } from "./sessions/text-search.ts";
export { addedUsage, countedTools } from "./sessions/usage.ts";

// The memory store, and functions that other stores use too.
export { checkVersion, listRecords, storedRecord } from "./memory-store/memory-records.ts";
export { createMemoryStore } from "./memory-store/memory-store.ts";
export {
  type SessionTables,
  applyChanges,
  checkChanges,
  costBreakdown,
  newRun,
  pageOfMessages,
  pageOfRuns,
  placesIn,
  summaryOfTables,
} from "./memory-store/memory-tables.ts";

// Limits that tenants share: places in the fair queue, caps, spending.
export {
  type FairQueue,
  type GiveBack,
  type QueueFigures,
  UNKNOWN_TENANT,
  createFairQueue,
} from "./shares/fair-queue.ts";
export { type Cap, type RunOwner, capsOf } from "./shares/caps.ts";
export { capUses } from "./shares/cap-use.ts";
export { capRuns } from "./shares/capped-runs.ts";
export { type SpendGate, createSpendGate } from "./shares/spend-gate.ts";
export { createSpendLedger, sweepSpending } from "./shares/spend-ledger.ts";
export { type LargeSessions, createLargeSessions } from "./shares/large-sessions.ts";
export { type RunLine, type Standing, queuedRun, runLines } from "./shares/run-places.ts";

// The policy.
export { explainPolicy, mayRunClaude } from "./policy/explain-policy.ts";
export {
  type KeyPolicy,
  HostPattern,
  Policy,
  SandboxMode,
  agentHosts,
  commonHosts,
  isAmong,
  isHostAmong,
  policyOf,
  tenantRules,
} from "./policy/policy.ts";
export { policyProblem } from "./policy/policy-problem.ts";
export { askedByOptions, moreThan, useRefusal } from "./policy/refusals.ts";
export { type ChosenSandboxMode, chosenSandboxMode } from "./policy/sandbox-mode.ts";

// The audit log, secrets, and the sandbox.
export { type AuditLog, createAuditLog } from "./audit/audit-log.ts";
export { checkSealedWith, countUnsealed, resealRecords, sealedRecords } from "./secrets/sealed-records.ts";
export { createSecrets } from "./secrets/secrets.ts";
export { type Vault, createVault } from "./secrets/vault.ts";
export { bubblewrapRefusal } from "./sandbox/bubblewrap-refusal.ts";
export { syscallFilter } from "./sandbox/syscall-filter.ts";
