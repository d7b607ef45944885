import {
  type AnswerInput,
  type ApiAnswered,
  type Effect,
  type Event,
  KnownError,
  isKnownError,
  timeOf,
} from "@skein/protocol";
import type { z } from "zod";
import { type Caller, type Handlers, sessionIn } from "../../request-context.ts";
import { PLACES, cursorOf, placeOf } from "../../http/cursor.ts";
import { checkRights } from "../claude/rights.ts";

/**
 * The tool calls of a session, and its awaits, which are tool calls that wait for a person, the client or a subagent.
 */
export const awaitHandlers = {
  async listAwaits({ params }, call) {
    const { id, tenant } = await sessionIn(call, params);
    const open = await call.shared.deps.store.awaits(id, { tenant });
    return { data: open.map((one) => ({ ...one, input: one.input ?? null })) };
  },
  async listTenantAwaits({ query: { kind, agent_id, limit, cursor } }, call) {
    const { tenant } = call.principal;
    const { store } = call.shared.deps;
    const page = await store.openAwaits({
      tenant,
      kinds: kind === undefined ? ANSWERABLE : [kind],
      ...(agent_id !== undefined && { agentId: agent_id }),
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor: placeOf(cursor, PLACES.opaque) }),
    });
    const ids = [...new Set(page.items.map(({ session_id }) => session_id))];
    const { items } = await store.changed({ tenant, sessionIds: ids, limit: Math.max(1, ids.length) });
    const sessions = new Map(items.map(({ session }) => [session.id, session]));
    const names = await namesOfAgents(call, [...new Set(items.map(({ session }) => session.agent_id))]);
    const data = page.items.flatMap((open) => {
      const session = sessions.get(open.session_id);
      // The session was deleted after its awaits were read.
      if (!session) return [];
      const { id, title, agent_id } = session;
      const shown = { id, title, agent_id, agent_name: names.get(agent_id) ?? null };
      return [{ ...open, input: open.input ?? null, session: shown }];
    });
    return { data, next_cursor: cursorOf(page.cursor) };
  },
  answerAwait: ({ params, body }, call) => acceptAnswer(call, params, body),
  async listEffects({ params }, call) {
    const { id } = await sessionIn(call, params);
    return { data: effectsOf(await call.sessions.events(id)) };
  },
} satisfies Partial<Handlers>;

/** The kinds of awaits that a caller can answer. Only a subagent answers the await for this subagent. */
const ANSWERABLE = ["frontend_tool", "question", "approval"] as const;

async function namesOfAgents({ agents }: Caller, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    ids.map((id) =>
      agents.get(id).catch((error: unknown) => {
        if (!isKnownError(error, "not_found")) throw error;
        return undefined;
      }),
    ),
  );
  return new Map(found.flatMap((agent) => (agent ? [[agent.id, agent.name] as const] : [])));
}

/** Writes the answer to an await into the session's event log. */
export async function acceptAnswer(
  call: Caller,
  params: { session_id: string; agent_id?: string | undefined; tool_use_id: string },
  body: z.output<typeof AnswerInput>,
): Promise<z.output<typeof ApiAnswered>> {
  const { id } = await sessionIn(call, params);
  await checkRights(call, id);
  const answer = { content: body.content, isError: body.is_error, updatedInput: body.updated_input };
  const answered = await call.sessions.answer(id, params.tool_use_id, answer, call.idempotency);
  const { disposition, reason, sequence } = answered;
  if (disposition === "refused") throw new KnownError("not_awaiting", reason);
  return { session_id: id, tool_use_id: params.tool_use_id, disposition, reason, event_sequence: sequence };
}

/** Returns the tool calls of a log. A started call without a result is `running`. */
function effectsOf(events: readonly Event[]): Effect[] {
  const effects = new Map<string, Effect>();
  for (const event of events) {
    if (event.event_type === "tool.started") {
      const { tool_use_id, run_id, step, name, input, policy } = event.data;
      effects.set(tool_use_id, {
        tool_use_id,
        run_id,
        step,
        name,
        input: input ?? null,
        policy,
        outcome: "running",
        started_at: timeOf(event),
        completed_at: null,
        duration_ms: null,
      });
    }
    if (event.event_type === "tool.completed") {
      const { tool_use_id, run_id, step, name, input, outcome, duration_ms } = event.data;
      const started = effects.get(tool_use_id);
      effects.set(tool_use_id, {
        tool_use_id,
        run_id,
        step,
        name,
        input: input ?? null,
        policy: started?.policy ?? null,
        outcome,
        started_at: started?.started_at ?? null,
        completed_at: timeOf(event),
        duration_ms,
      });
    }
  }
  return [...effects.values()];
}
