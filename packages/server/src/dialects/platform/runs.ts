import {
  type ModelCall,
  type ModelCatalog,
  callOf,
  createRequestParts,
  emptyState,
  fold,
  newRun,
  project,
  runStarted,
} from "@skein/core";
import { type Event, type JsonObject, KnownError, type Run, type SentRequest, runLogs } from "@skein/protocol";
import { type RequestContext, type Handlers, sessionIn } from "../../request-context.ts";
import { PLACES, cursorOf, placeOf } from "../../http/cursor.ts";

/** Routes for runs: their events, their cost and their requests to models. */
export const runHandlers = {
  async listRuns({ params, query: { limit, cursor } }, call) {
    const { id } = await sessionIn(call, params);
    const page = await call.sessions.runs(id, {
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor: placeOf(cursor, PLACES.number) }),
    });
    return { data: page.items.map(wire), next_cursor: cursorOf(page.cursor) };
  },
  async getRun({ params }, call) {
    const run = await startedRun(call, params);
    if (!run) return waitingRun(call, params);
    const said = new Set<string>();
    for (const { event_type, data } of await eventsOf(call, run))
      if (event_type === "message.created" && data.run_id === run.id) said.add(data.message_id);
    const transcript = await call.sessions.transcript(run.session_id);
    const messages = transcript.filter(({ id }) => said.has(id)).map(({ role, content }) => ({ role, content }));
    return { ...wire(run), messages };
  },
  async getRunLogs({ params }, call) {
    const { run_id, session_id: agent_uuid } = params;
    const rows = runLogs(await eventsOf(call, await runIn(call, params)), run_id);
    return { data: rows.map((row, index) => ({ log_id: index + 1, agent_uuid, run_id, ...row })) };
  },
  async getRunCost({ params }, call) {
    const run = await runIn(call, params);
    const { cost, cost_micros, cost_picos, unpriced_calls, reserved_micros, models } = run;
    const { estimated, simulated } = wire(run);
    return { cost, cost_micros, cost_picos, unpriced_calls, estimated, reserved_micros, simulated, models };
  },
  async getRunStep({ params: { step, ...params }, query: { attempt } }, call) {
    const run = await runIn(call, params);
    const { models } = call.shared.deps;
    if (!models) throw new KnownError("not_found", "This server calls no models, so it cannot show their requests.");
    await models.refresh(call.principal.tenant);
    const sent = sentRequests(await call.sessions.events(run.session_id), { run, step, attempt }, models);
    const named = attempt === undefined ? `step ${step}` : `attempt ${attempt} of step ${step}`;
    if (sent.length === 0) throw new KnownError("not_found", `Run ${run.id} has no ${named}.`);
    return { data: sent };
  },
} satisfies Partial<Handlers>;

/**
 * Converts a run to the format of the API. Some fields also appear under their names in the table conversation_history.
 */
function wire(run: Run) {
  return {
    ...run,
    estimated: run.estimated_calls > 0,
    simulated: run.simulated_calls > 0,
    status: run.outcome ?? ("running" as const),
    conversation_id: run.id,
    run_id: run.id,
    agent_uuid: run.session_id,
    sequence_number: run.number,
    extras: {},
    created_at: run.completed_at ?? run.started_at,
  };
}

interface RunParams {
  readonly session_id: string;
  readonly agent_id?: string | undefined;
  readonly run_id: string;
}

export async function runIn(call: RequestContext, params: RunParams): Promise<Run> {
  return (await startedRun(call, params)) ?? noRun(params);
}

function noRun({ session_id, run_id }: RunParams): never {
  throw new KnownError("not_found", `Session ${session_id} has no run ${run_id}.`);
}

/** The run of a prompt that is queued, or was cancelled in the queue. */
async function waitingRun(call: RequestContext, params: RunParams) {
  const { queue, runs } = await call.sessions.state(params.session_id);
  const events = await call.sessions.events(params.session_id);
  const accepted = events.find(
    (event) => event.event_type === "prompt.accepted" && event.data.run_id === params.run_id,
  );
  if (accepted?.event_type !== "prompt.accepted") return noRun(params);
  const { run_id, message_id } = accepted.data;
  const [columns] = project([{ ...accepted, ...runStarted(accepted.data, "json") }]).runInserts;
  if (!columns) return noRun(params);
  const place = queue.findIndex((prompt) => prompt.run_id === run_id);
  const run = { ...wire(newRun(columns, runs + place + 1)), started_at: null, messages: [] };
  if (place !== -1) return { ...run, status: "queued" as const };
  const cancel = events.find((event) => event.event_type === "cancel.requested" && event.data.run_id === run_id);
  if (!cancel) return readByAnother(events, params, message_id);
  return {
    ...run,
    number: null,
    sequence_number: null,
    status: "cancelled" as const,
    outcome: "cancelled" as const,
    stop_reason: "cancelled" as const,
    completed_at: cancel.created_at,
    last_sequence: cancel.sequence,
  };
}

/** Rejects the run of a steering prompt. It never began, because another run read the prompt. */
function readByAnother(events: readonly Event[], params: RunParams, messageId: string): never {
  const entered = events.find((event) => event.event_type === "message.created" && event.data.message_id === messageId);
  if (entered?.event_type !== "message.created") return noRun(params);
  const { run_id } = entered.data;
  throw new KnownError("not_found", `Run ${params.run_id} did not begin: run ${run_id} read its prompt.`, {
    details: { run_id },
  });
}

async function startedRun(call: RequestContext, params: RunParams): Promise<Run | undefined> {
  const { id } = await sessionIn(call, params);
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await call.sessions.runs(id, { limit: 200, ...(cursor !== undefined && { cursor }) });
    const found = page.items.find((run) => run.id === params.run_id);
    if (found) return found;
    cursor = page.cursor;
  }
  return undefined;
}

async function eventsOf(call: RequestContext, run: Run): Promise<readonly Event[]> {
  const { first_sequence, last_sequence } = run;
  return call.sessions.events(run.session_id, {
    after: first_sequence - 1,
    ...(last_sequence !== null && { limit: last_sequence - first_sequence + 1 }),
  });
}

/** Converts a model call to the format of the Messages API, for models whose API has another format. */
function wordsOf({ model, maxTokens, system, turns, tools, serverTools }: ModelCall): JsonObject {
  const all = [...tools, ...serverTools];
  return {
    model,
    max_tokens: maxTokens,
    ...(system !== "" && { system }),
    messages: turns,
    ...(all.length > 0 && { tools: all }),
  };
}

/** Computes the requests to the model from the log. Requests are not stored. */
function sentRequests(
  events: readonly Event[],
  wanted: { run: Run; step: number; attempt: number | undefined },
  models: ModelCatalog,
): SentRequest[] {
  const { run } = wanted;
  const state = emptyState(run.session_id);
  const sent: SentRequest[] = [];
  const parts = createRequestParts();
  for (const event of events) {
    fold(state, [event]);
    parts.note(event);
    if (event.event_type !== "step.started" || event.data.run_id !== run.id) continue;
    const { step, attempt, purpose, max_tokens } = event.data;
    if (step !== wanted.step || (wanted.attempt !== undefined && attempt !== wanted.attempt)) continue;
    const asked = callOf(state, purpose, max_tokens);
    const { api, body: sentBody, leftOut } = models.named(state.tenant, asked.model).prepare(asked);
    const isOther = api !== "messages";
    const body = isOther ? wordsOf(asked) : sentBody;
    sent.push({
      run_id: run.id,
      step,
      attempt,
      purpose,
      sequence: event.sequence,
      betas: [...asked.betas],
      left_out: leftOut.map((left) => ({ ...left })),
      // The state changes in place later, so the response needs a copy.
      body: structuredClone(body),
      sent: isOther && api !== "none" ? { api, body: structuredClone(sentBody) } : null,
      parts: [...parts.parts(state, body)],
    });
  }
  return sent;
}
