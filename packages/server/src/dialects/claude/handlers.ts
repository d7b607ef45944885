import { KnownError, isKnownError } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import type { RequestContext, Caller, Handlers } from "../../request-context.ts";
import { deleteSession } from "../../delete-session.ts";
import { busHealth, storeHealth } from "../../observe/health.ts";
import { acceptFork, acceptQuery, acceptResume, claudeSession, openGate } from "./accept.ts";
import { openAwaits } from "./answer-by-prompt.ts";
import { checkpointIn, checkpointsOf } from "./checkpoints.ts";
import { sessionMessages } from "./messages.ts";
import { checkRights } from "./rights.ts";
import { listSessions, sessionResponse } from "./session-response.ts";
import { singleResponse } from "./single-response.ts";
import { currentRun, streamRun, takenUp } from "./stream.ts";

/** The Claude API's routes. */
export const claudeHandlers = {
  claudeHealth: async (_, call) => health(call),
  async query({ body }, call) {
    const run = async () => (await takenUp(call)) ?? acceptQuery(call, body, call.request.body);
    return streamRun(call, run, { stopOnDisconnect: body.stop_on_disconnect });
  },
  async querySingle({ body }, call) {
    const run = await acceptQuery(call, body, call.request.body);
    return singleResponse(call, run, { stopOnDisconnect: body.stop_on_disconnect });
  },
  listClaudeSessions: ({ query }, call) => listSessions(call, query),
  getClaudeSession: async ({ params }, call) => sessionResponse(await claudeSession(call, params.session_id)),
  async deleteClaudeSession({ params: { session_id } }, call) {
    await claudeSession(call, session_id);
    await deleteSession(call, session_id);
    return undefined;
  },
  async listClaudeMessages({ params: { session_id }, query: { page, page_size } }, call) {
    await claudeSession(call, session_id);
    const asked = { first: (page - 1) * page_size, size: page_size };
    const { messages, total } = await sessionMessages(call.sessions, session_id, asked);
    return { messages: [...messages], total, page, page_size };
  },
  async streamClaudeSession({ params: { session_id } }, call) {
    await claudeSession(call, session_id);
    return streamRun(call, async () => (await takenUp(call, session_id)) ?? currentRun(call, session_id));
  },
  async resumeClaudeSession({ params: { session_id }, body }, call) {
    const raw = call.request.body;
    const run = async () => (await takenUp(call, session_id)) ?? acceptResume(call, session_id, body, { raw });
    return streamRun(call, run, { stopOnDisconnect: body.stop_on_disconnect });
  },
  async forkClaudeSession({ params: { session_id }, body }, call) {
    const run = async () => (await takenUp(call)) ?? acceptFork(call, session_id, body, call.request.body);
    return streamRun(call, run, { stopOnDisconnect: body.stop_on_disconnect });
  },
  interruptClaudeSession: ({ params }, call) => interrupt(call, params.session_id),
  async controlClaudeSession({ params, body: { type, permission_mode, model } }, call) {
    if (type === "permission_mode_change") {
      if (!permission_mode) throw new KnownError("invalid", "permission_mode: Expected the new mode.");
      await control(call, params.session_id, { permission_mode });
      return { status: "accepted" as const };
    }
    if (type === "model_change") {
      if (!model) throw new KnownError("invalid", "model: Expected the name of the new model.");
      await control(call, params.session_id, { model });
      return { status: "accepted" as const };
    }
    await claudeSession(call, params.session_id);
    return { status: "unknown_type" as const };
  },
  async answerClaudeSession({ params, body }, call) {
    return { status: "accepted" as const, tool_use_id: await answer(call, params.session_id, body) };
  },
  async listCheckpoints({ params: { session_id } }, call) {
    await claudeSession(call, session_id);
    return { checkpoints: [...(await checkpointsOf(call, session_id))] };
  },
  rewindSession: ({ params, body }, call) => rewind(call, params.session_id, body),
  async tagClaudeSession({ params: { session_id }, body: { tags } }, call) {
    await claudeSession(call, session_id);
    return sessionResponse(await call.sessions.edit(session_id, { tags }));
  },
} satisfies Partial<Handlers>;

/** Cancels the run in progress. If no run is in progress, cancels the next queued run. */
export async function interrupt(
  call: Caller,
  sessionId: string,
): Promise<{ status: "interrupted"; session_id: string; run_id: string }> {
  await claudeSession(call, sessionId);
  const reason = "It was interrupted.";
  const run = await call.sessions.cancel(sessionId, { reason }, call.idempotency).catch((error: unknown) => {
    throw isKnownError(error, "not_running") ? notActive(sessionId) : error;
  });
  return { status: "interrupted", session_id: sessionId, run_id: run.id };
}

/** Changes the permission mode or the model of a session from now on. */
export async function control(
  call: Caller,
  sessionId: string,
  change: { permission_mode?: Mode | null | undefined; model?: string | null | undefined },
): Promise<void> {
  await claudeSession(call, sessionId);
  const { permission_mode, model } = change;
  const gate = await openGate(call);
  await gate.admit(
    { ...(permission_mode && { permission_mode }), ...(model && { model }) },
    { principal: call.principal, sessionId },
  );
  const changed = {
    ...(permission_mode && { permissionMode: permission_mode }),
    ...(model && { model }),
  };
  await call.sessions.control(sessionId, changed, call.idempotency);
}

/**
 * Answers an await of a session, which is a tool call that waits for a person or the client. The request must name the
 * await only if several are open.
 */
export async function answer(
  call: Caller,
  sessionId: string,
  { answer: given, tool_use_id }: { answer: string | object; tool_use_id?: string | null | undefined },
): Promise<string> {
  await claudeSession(call, sessionId);
  await checkRights(call, sessionId);
  const open = await openAwaits(call, sessionId);
  const ids = open.map((one) => one.tool_use_id);
  if (!tool_use_id && open.length > 1)
    throw new KnownError("invalid", "tool_use_id: Several questions are open. Name the one that you answer.", {
      details: { open: ids },
    });
  const id = tool_use_id ?? open[0]?.tool_use_id;
  if (id === undefined) throw notWaiting(sessionId);
  const content = typeof given === "string" ? given : JSON.stringify(given);
  const { disposition, reason } = await call.sessions.answer(sessionId, id, { content });
  if (disposition === "duplicate") throw new KnownError("conflict", reason);
  if (disposition === "accepted") return id;
  if (open.length === 0) throw notWaiting(sessionId);
  throw new ApiError("SESSION_NOT_FOUND", `tool_use_id: ${reason} It waits for an answer to ${ids.join(", ")}.`, {
    details: { open: ids },
  });
}

type Mode = NonNullable<Parameters<NonNullable<Caller["shared"]["deps"]["claude"]>["admit"]>[0]["permission_mode"]>;

async function rewind(
  call: RequestContext,
  sessionId: string,
  { checkpoint_id, dry_run }: { checkpoint_id: string; dry_run: boolean },
) {
  await claudeSession(call, sessionId);
  const checkpoint = await checkpointIn(call, sessionId, checkpoint_id);
  await openGate(call);
  const asked = await call.sessions.rewind(sessionId, checkpoint, { dryRun: dry_run }, call.idempotency);
  const late = AbortSignal.timeout(call.shared.limits.answerMs);
  for await (const event of call.sessions.follow(sessionId, { after: asked.sequence }, late)) {
    if (event.event_type !== "rewind.completed" || event.data.rewind_id !== asked.id) continue;
    const { error, files_changed, insertions, deletions } = event.data;
    if (error) throw new ApiError("INVALID_CHECKPOINT", error.message, { details: { code: error.code } });
    return {
      status: dry_run ? ("validated" as const) : ("completed" as const),
      checkpoint_id: checkpoint.id,
      files_changed,
      insertions,
      deletions,
      message: dry_run ? "Nothing was changed." : "The files are as they were at the checkpoint.",
    };
  }
  throw new ApiError("REQUEST_TIMEOUT", "The files were not restored in time. The session continues to try.");
}

async function health(call: RequestContext) {
  const { version } = call.shared.deps.description;
  const [store, [bus]] = await Promise.all([storeHealth(call), busHealth(call)]);
  const began = performance.now();
  const problem = await (call.shared.deps.claude?.problem() ?? "This server does not run Claude Code.");
  const dependencies = {
    store:
      store.status === "ok"
        ? { status: "ok" as const, latency_ms: store.latency_ms }
        : { status: "error" as const, latency_ms: store.latency_ms, error: store.detail },
    claude_code:
      problem === undefined
        ? { status: "ok" as const, latency_ms: performance.now() - began }
        : { status: "error" as const, error: problem },
    ...(bus && {
      redis:
        bus.status === "ok"
          ? { status: "ok" as const, latency_ms: bus.latency_ms }
          : { status: "error" as const, error: "Redis does not answer. Sessions continue without it." },
    }),
  };
  const isWhole = problem === undefined && (!bus || bus.status === "ok");
  const status = store.status !== "ok" ? ("unhealthy" as const) : isWhole ? ("ok" as const) : ("degraded" as const);
  if (status === "unhealthy") call.reply.code(503);
  if (call.principal.scopes.length > 0) return { status, version, dependencies };
  // Everybody may read this response. So it contains only the names of failing dependencies, without reasons.
  const failing = Object.entries(dependencies).filter(([, { status: state }]) => state === "error");
  return {
    status,
    version,
    dependencies: Object.fromEntries(failing.map(([name]) => [name, { status: "error" as const }])),
  };
}

/** The Claude API's error for a session without a run in progress. */
function notActive(sessionId: string): ApiError {
  return new ApiError("SESSION_NOT_FOUND", `Session ${sessionId} has no run that could be interrupted.`);
}

function notWaiting(sessionId: string): ApiError {
  return new ApiError("SESSION_NOT_FOUND", `Session ${sessionId} does not wait for an answer.`);
}
