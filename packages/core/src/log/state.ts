import {
  type AgentConfig,
  type Content,
  type FactData,
  type Failure,
  type JsonObject,
  type Message,
  NO_USAGE,
  type Outcome,
  type SessionStatus,
  type UsageTotals,
} from "@skein/protocol";

/** The name of the await that asks people whether a run may spend more. It is an approval without a tool call. */
export const SPEND_AWAIT = "spend";

/** A prompt that was accepted and has not entered the transcript yet. */
export type QueuedPrompt = FactData<"prompt.accepted">;

/** A tool call of the current step. */
export interface CallState {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: unknown;
  /** Whether a person or a hook changed the input that the model gave. */
  readonly isChanged: boolean;
  /** What the agent's hook decided before the call; null if no hook decided anything. */
  hook: { readonly decision: "allow" | "deny" | "ask"; readonly reason: string | null } | null;
  /**
   * `asked`: the model made the call. `started`: a worker began it. `waiting`: it waits for something outside. `done`:
   * it has its result.
   */
  phase: "asked" | "started" | "waiting" | "done";
  /** What the call waits for; null if it does not wait. */
  awaiting: FactData<"await.opened">["awaits"][number]["kind"] | null;
  openedAt: string | null;
  /** Whether the call was approved. */
  approved: boolean;
  policy: "once" | "repeatable" | null;
  /** The run's `fence` when a worker started the call. If `fence` has changed since then, that worker is gone. */
  startedUnder: number;
  expiresAt: string | null;
  /** An answer of a person, the client or a subagent to this call that the worker has not handled yet. */
  answer: FactData<"await.answered"> | null;
  result: { readonly content: Content; readonly isError: boolean } | null;
}

/** The run in progress. */
export interface RunState {
  readonly runId: string;
  readonly startedAt: string;
  readonly prompt: QueuedPrompt;
  step: number;
  /** The open model call: the fact of its start is in the log, but not the fact of its end. Null if there is none. */
  call: FactData<"step.started"> | null;
  /** Whether the model has answered in the current step. The next model call then starts a new step. */
  stepDone: boolean;
  /** A reply whose message has not entered the transcript yet. */
  replyId: string | null;
  /** Why the run cannot continue. */
  failure: Failure | null;
  titleTried: boolean;
  parentInformed: boolean;
  repaired: boolean;
  /**
   * The value of `fence` when a worker started the open model call. If `fence` has changed since then, that worker is
   * gone.
   */
  callUnder: number;
  /** Failed attempts of this step so far, and when the next attempt may start. */
  attempts: number;
  retryAt: string | null;
  /**
   * The fallback model for the rest of the run. `attemptsBefore` is how many of `attempts` were made before the switch
   * to this model.
   */
  fallback: { readonly model: string; attemptsBefore: number } | null;
  /** Whether the provider rejected the schema of the answer. The model then has to call a tool to answer. */
  schemaRefused: boolean;
  /** What the agent's hook changed for the current step; null if no hook changed anything. */
  modelHook: { readonly system?: string; readonly maxTokens?: number; readonly refusal?: string } | null;
  calls: CallState[];
  /** The message that will contain the results of `calls`. */
  resultsMessageId: string | null;
  /** Why the model stopped its last answer. */
  stopReason: string | null;
  lastPurpose: FactData<"step.started">["purpose"];
  /** Whether the last reply passed the check of the agent's code. */
  answerValid: boolean;
  /** Generated files that Skein has not stored yet. Only the provider of the model that made a file can return it. */
  files: { readonly fileId: string; readonly step: number; readonly model: string }[];
  memoryUpdated: boolean;
  cancelRequested: boolean;
  cancelReason: string | null;
  exhausted: boolean;
  usage: UsageTotals;
  /** The exact cost, in pico-dollars as decimal text. */
  costPicos: string;
  /** What the run's subagents spent, in pico-dollars as decimal text. */
  delegatedPicos: string;
  unpricedCalls: number;
  /** The number of calls whose usage is estimated, and of calls that the built-in simulation answered. */
  estimatedCalls: number;
  simulatedCalls: number;
  filesGenerated: number;
  /** The open question to people whether the run may spend more; null if no question is open. */
  spendAsk: {
    readonly toolUseId: string;
    readonly scope: string;
    readonly openedAt: string;
    answer: FactData<"await.answered"> | null;
  } | null;
  /**
   * The fence (the number of the lease) of the worker that resumed the run last; 0 if no worker has resumed the run.
   */
  fence: number;
  /** How many workers in a row took over the run and made no progress. */
  resumesWithoutProgress: number;
  validationFailures: number;
  /** Why the last checked answer failed its check. */
  validationProblem: string | null;
  /** The notices about tools that the log already has. */
  noticed: string[];
  /** Whether the compaction check for the next step is done. */
  compactionChecked: boolean;
  memoryRetrieved: boolean;
  /** Messages since the last answer of the model. The provider may still reject them. */
  unread: string[];
}

/**
 * The state of a session. It is always folded from the events of the log, and is plain JSON, so that it can be stored
 * as a snapshot.
 */
export interface SessionState {
  sessionId: string;
  /** The sequence of the last event that was folded. */
  sequence: number;
  tenant: string;
  agentId: string;
  agentVersion: number;
  agent: AgentConfig | null;
  title: string | null;
  tags: readonly string[];
  modelId: string | null;
  metadata: JsonObject;
  workingDirectory: string | null;
  parent: FactData<"session.created">["parent"];
  subagentOf: FactData<"session.created">["subagent_of"];
  /** The name of the API key that opened the session. */
  openedBy: string | null;
  transcript: Message[];
  /** After a compaction: the model is shown `messages` instead of the first `until` messages of the transcript. */
  compacted: { readonly until: number; readonly messages: readonly Omit<Message, "id">[] } | null;
  /**
   * The texts that memory found for a prompt, by message id of the prompt. The model is shown these texts with the
   * prompt.
   */
  recalled: Record<string, readonly string[]>;
  /** Messages that the model's API rejected. They stay in the transcript and are not sent again. */
  leftOut: string[];
  /** Contents that wait for their message to enter the transcript, by message id. */
  pending: Record<string, { readonly role: Message["role"]; readonly content: Content; readonly interrupted?: true }>;
  queue: QueuedPrompt[];
  run: RunState | null;
  runs: number;
  outcome: Outcome | null;
  containerId: string | null;
  /** The tokens of the context. The model measured a part, and newer messages are estimated. */
  contextTokens: number;
  usage: UsageTotals;
  costPicos: string;
  /** What the session's subagents spent. */
  delegatedPicos: string;
  unpricedCalls: number;
  /**
   * What interrupted calls and subagents may have cost beyond their known cost, since the model's last complete answer.
   */
  reservations: Reservation[];
  files: Record<string, FileEntry>;
  /** How many entries of a Claude Code transcript the log has. */
  transcriptEntries: number;
  /** The permission mode and model that were set during a run. They stay in force for later runs. */
  control: { permissionMode: string | null; model: string | null };
  /** Rewinds that were requested but not done yet. */
  rewinds: FactData<"rewind.requested">[];
}

/** What a call that broke off may have cost beyond its known cost. It counts against budgets for a limited time. */
export interface Reservation {
  readonly runId: string;
  readonly micros: number;
  readonly until: string;
}

/** An entry of file_registry in the agent tables. */
interface FileEntry {
  readonly filename: string;
  readonly storage_path: string;
  readonly size: number;
  readonly mime_type: string;
  readonly created_in_run: string;
  readonly last_updated_run: string;
  readonly last_updated_at: string;
}

/** The subtype of notices about tools. */
export const TOOLS_NOTICED = "tools";

export function emptyState(sessionId: string): SessionState {
  return {
    sessionId,
    sequence: 0,
    tenant: "",
    agentId: "",
    agentVersion: 0,
    agent: null,
    title: null,
    tags: [],
    modelId: null,
    metadata: {},
    workingDirectory: null,
    parent: null,
    subagentOf: null,
    openedBy: null,
    transcript: [],
    compacted: null,
    leftOut: [],
    recalled: {},
    pending: {},
    queue: [],
    run: null,
    runs: 0,
    outcome: null,
    containerId: null,
    contextTokens: 0,
    usage: NO_USAGE,
    costPicos: "0",
    delegatedPicos: "0",
    unpricedCalls: 0,
    reservations: [],
    files: {},
    transcriptEntries: 0,
    control: { permissionMode: null, model: null },
    rewinds: [],
  };
}

export function statusOf(state: SessionState): SessionStatus {
  if (!state.run) return "idle";
  if (state.run.spendAsk && !state.run.spendAsk.answer) return "awaiting";
  const open = state.run.calls.filter((call) => call.phase !== "done");
  return open.length > 0 && open.every((call) => call.phase === "waiting" && call.answer === null)
    ? "awaiting"
    : "running";
}

/** Returns the messages that the model is shown. */
export function contextOf(state: SessionState): readonly Omit<Message, "id">[] {
  const { compacted, leftOut, transcript } = state;
  const since = compacted ? transcript.slice(compacted.until) : transcript;
  const shown = leftOut.length === 0 ? since : since.filter(({ id }) => !leftOut.includes(id));
  return compacted ? [...compacted.messages, ...shown] : shown;
}
