import { type SessionState, claudeAgent, derivedId } from "@skein/core";
import {
  type AgentConfig,
  ClaudeOptions,
  type ForkRequest,
  type QueryRequest,
  type Session,
  isKnownError,
} from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import type { Caller } from "../../request-context.ts";
import {
  afterAnswer,
  answerSentAgain,
  answeredRun,
  checkNothingElse,
  locked,
  onlyQuestion,
} from "./answer-by-prompt.ts";
import type { AskedRun } from "./requested-run.ts";
import { CLAUDE_AGENT_ID, storeClaudeAgent } from "./built-in-agent.ts";
import type { ClaudeGate } from "./gate.ts";
import { promptContent } from "./prompt-content.ts";
import { checkOpen, checkRights } from "./rights.ts";
import { allOptions, givenOptions, recordedOptions, runOptions } from "./session-options.ts";

/** The fields of a request that describe the session. */
type Labels = Partial<Pick<QueryRequest, "metadata" | "tags" | "title" | "user">>;
type Spoken = Pick<QueryRequest, "prompt" | "images"> & Partial<Pick<QueryRequest, "when_running">> & Labels;

/** What a new prompt does to a run in progress if the request does not set `when_running`. */
type WhenRunning = "reject" | "replace";

/**
 * Accepts a prompt for a new session, an existing session or a copy of an existing session. `raw` is the body without
 * defaults. It shows which fields the caller left out.
 */
export async function acceptQuery(
  call: Caller,
  body: QueryRequest,
  raw: unknown,
  byDefault: WhenRunning = "reject",
): Promise<AskedRun> {
  const existing = body.session_id ?? (body.continue_conversation ? await latestIn(call, body.cwd) : undefined);
  if (existing === undefined) return begin(call, body);
  if (body.fork_session) return acceptFork(call, existing, body, raw);
  return acceptResume(call, existing, body, { raw, byDefault });
}

/**
 * Accepts a prompt for an existing session. If the session waits for the answer to exactly one question, the prompt is
 * this answer and the same run continues. With `when_running` set to `queue` or `replace`, the prompt answers no
 * question.
 */
export async function acceptResume(
  call: Caller,
  sessionId: string,
  body: Spoken,
  { raw, byDefault = "reject" }: { readonly raw: unknown; readonly byDefault?: WhenRunning },
): Promise<AskedRun> {
  const session = await claudeSession(call, sessionId);
  const state = await call.sessions.state(sessionId);
  const recorded = recordedOptions(state);
  const gate = recorded && (await openGate(call));
  const given = runOptions(givenOptions(body, raw), recorded);
  await checkRights(call, sessionId, given);
  const partials = given.include_partial_messages ?? recorded?.include_partial_messages ?? false;
  const content = promptContent(body, call);
  const told = body.when_running ?? "reject";
  const question = told === "reject" ? await onlyQuestion(call, sessionId) : undefined;
  if (question) {
    checkNothingElse(given);
    await keep(call, session, body);
    return answeredRun(call, question, { content, partials });
  }
  const options = (await gate?.admit(given, { principal: call.principal, sessionId })) ?? given;
  const whenRunning = body.when_running ?? byDefault;
  if (whenRunning === "replace") await makeWay(call, state);
  const prompt = {
    content,
    whenIdle: whenRunning === "reject" && (isIdle(state) ? { seenAt: state.sequence } : true),
    maxCostMicros: budgetOf({ ...recorded, ...options }),
    ...(Object.keys(options).length > 0 && { options }),
  };
  try {
    const { runId, sequence } = await call.sessions.prompt(sessionId, prompt, call.idempotency);
    await keep(call, session, body);
    return { sessionId, runId, from: sequence - 1, after: 0, partials, state };
  } catch (error) {
    const answered = answerSentAgain(error);
    if (answered !== undefined) return afterAnswer(call, sessionId, { sequence: answered, partials });
    throw isKnownError(error, "conflict") ? locked(sessionId) : error;
  }
}

/** Accepts a prompt for a copy of a session. Options that the request leaves out are taken from the parent. */
export async function acceptFork(
  call: Caller,
  parentId: string,
  body: Spoken & Partial<Pick<ForkRequest, "message_id">>,
  raw: unknown,
): Promise<AskedRun> {
  const { metadata } = await claudeSession(call, parentId);
  const recorded = recordedOptions(await call.sessions.state(parentId));
  const gate = recorded && (await openGate(call));
  const given = runOptions(givenOptions(body, raw), recorded);
  await checkRights(call, parentId, given);
  const content = promptContent(body, call);
  const id = newId(call, "claude-fork");
  const admitted = (await gate?.admit(given, { principal: call.principal, sessionId: id })) ?? given;
  await gate?.inherit(parentId, id, call.principal);
  call.shared.meter.session(call.principal.keyId);
  const changed = (config: AgentConfig): AgentConfig => ({
    ...config,
    model: admitted.model ?? config.model,
    extras: { ...config.extras, claude: { ...(config.extras["claude"] as object), ...admitted } },
  });
  const options = {
    id,
    openedBy: call.principal.name,
    ...(recorded && { agent: changed }),
    ...(body.message_id && { messageId: body.message_id }),
    ...(body.title && { title: body.title }),
    ...(body.tags && { tags: body.tags }),
    metadata: { ...metadata, ...metadataOf(body) },
  };
  const prompt = { content, maxCostMicros: budgetOf({ ...recorded, ...admitted }) };
  const { runId, sequence } = await call.sessions.beginFork(parentId, prompt, options, call.idempotency);
  const partials = admitted.include_partial_messages ?? recorded?.include_partial_messages ?? false;
  return { sessionId: id, runId, from: sequence - 1, after: 0, partials };
}

async function begin(call: Caller, body: QueryRequest): Promise<AskedRun> {
  const gate = await openGate(call);
  const content = promptContent(body, call);
  const id = newId(call, "claude-session");
  const admitted = await gate.admit(allOptions(body), { principal: call.principal, sessionId: id });
  call.shared.meter.session(call.principal.keyId);
  await storeClaudeAgent(call);
  // If the session has settings, the default model is not set, because the settings may contain a model.
  const hasSettings = admitted.settings || admitted.setting_sources?.length;
  const model = admitted.model ?? (hasSettings ? null : call.shared.deps.defaultModel);
  const options = ClaudeOptions.parse({ ...admitted, model });
  // A repeated request with an Idempotency-Key must find its session, so such a request never takes a prepared session.
  const ready = call.idempotency ? undefined : gate.reserve?.(options, call.principal);
  if (ready !== undefined) {
    await gate.inherit(id, ready, call.principal);
    await gate.forget(id, call.principal);
  }
  const { sessionId, runId, sequence } = await call.sessions.begin(
    claudeAgent(options),
    { content, maxCostMicros: budgetOf(options) },
    {
      id: ready ?? id,
      openedBy: call.principal.name,
      title: body.title ?? null,
      tags: body.tags ?? [],
      workingDirectory: options.cwd ?? null,
      metadata: metadataOf(body),
    },
    call.idempotency,
  );
  return { sessionId, runId, from: sequence - 1, after: 0, partials: options.include_partial_messages };
}

/** Returns the session with the id from the path. Throws an error of the Claude API if the session is unknown. */
export async function claudeSession({ sessions }: Pick<Caller, "sessions">, sessionId: string): Promise<Session> {
  return sessions.get(sessionId).catch((error: unknown) => {
    throw isKnownError(error, "not_found") ? noSession(sessionId) : error;
  });
}

function noSession(sessionId: string): ApiError {
  return new ApiError("SESSION_NOT_FOUND", `There is no session ${sessionId}.`);
}

/**
 * Returns the gate, through which the server checks and starts sessions of Claude Code. Rejects the request if Claude
 * Code cannot run on this server or the key may not run it.
 */
export async function openGate(call: Caller): Promise<ClaudeGate> {
  const gate = call.shared.deps.claude;
  const problem = gate ? await gate.problem() : "This server does not run Claude Code.";
  if (!gate || problem !== undefined) throw new ApiError("SERVICE_UNAVAILABLE", problem ?? "");
  await checkOpen(gate, call);
  return gate;
}

/** Cancels the run in progress and every queued run. Ignores a run that ended before its cancellation. */
async function makeWay({ sessions }: Caller, { sessionId, run, queue }: SessionState): Promise<void> {
  const reason = "Another prompt replaced this run.";
  for (const runId of [...(run ? [run.runId] : []), ...queue.map(({ run_id }) => run_id)])
    await sessions.cancel(sessionId, { runId, reason }).catch((error: unknown) => {
      if (!isKnownError(error, "not_running")) throw error;
    });
}

function isIdle({ run, queue }: SessionState): boolean {
  return run === null && queue.length === 0;
}

/** Returns a new id. A repeated request with an Idempotency-Key gets the id of the first request. */
function newId({ idempotency, shared }: Caller, kind: string): string {
  return idempotency ? derivedId(kind, idempotency.id) : shared.ids();
}

/**
 * Returns the budget of one run in millionths of a dollar. Claude Code's limit counts per process, so Skein does not
 * use it.
 */
function budgetOf({ max_budget_usd }: Partial<ClaudeOptions>): number | null {
  return max_budget_usd ? Math.floor(max_budget_usd * 1_000_000) : null;
}

/** Returns the metadata to store. It includes the user, because sessions can be searched by metadata. */
function metadataOf({ metadata, user }: Pick<Labels, "metadata" | "user">): Record<string, unknown> {
  return { ...metadata, ...(user && { user }) };
}

/** Applies the labels of a query to a session that existed before the query. */
async function keep({ sessions }: Caller, session: Session, { tags, title, ...labels }: Labels): Promise<void> {
  const metadata = metadataOf(labels);
  const isLabelled = Object.keys(metadata).length > 0;
  if (!isLabelled && !tags && !title) return;
  await sessions.edit(session.id, {
    ...(title && { title }),
    ...(tags && { tags }),
    ...(isLabelled && { metadata: { ...session.metadata, ...metadata } }),
  });
}

/** Returns the tenant's session that last ran in this folder. */
async function latestIn(call: Caller, folder: string | null | undefined): Promise<string | undefined> {
  const gate = await openGate(call);
  const request = { principal: call.principal, sessionId: call.shared.ids() };
  const { cwd = null } = await gate.admit(folder ? { cwd: folder } : {}, request);
  const query = { agentId: CLAUDE_AGENT_ID, workingDirectory: cwd, order: "used", limit: 1 } as const;
  return (await call.sessions.list(query)).items[0]?.id;
}
