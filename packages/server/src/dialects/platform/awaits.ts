import { type AnswerInput, type ApiAnswered, type Effect, type Event, KnownError } from "@skein/protocol";
import type { z } from "zod";
import { type Caller, type Handlers, sessionIn } from "../../call.ts";
import { checkRights } from "../claude/rights.ts";

/** What a session waits for, and what its tool calls did. */
export const awaitHandlers = {
  async listAwaits({ params }, call) {
    const { id, tenant } = await sessionIn(call, params);
    const open = await call.shared.deps.store.awaits(id, { tenant });
    return { data: open.map((one) => ({ ...one, input: one.input ?? null })) };
  },
  answerAwait: ({ params, body }, call) => acceptAnswer(call, params, body),
  async listEffects({ params }, call) {
    const { id } = await sessionIn(call, params);
    return { data: effectsOf(await call.sessions.events(id)) };
  },
} satisfies Partial<Handlers>;

/** Keeps an answer that the session waits for. */
export async function acceptAnswer(
  call: Caller,
  params: { session_id: string; agent_id?: string | undefined; tool_use_id: string },
  body: z.output<typeof AnswerInput>,
): Promise<z.output<typeof ApiAnswered>> {
  const { id } = await sessionIn(call, params);
  await checkRights(call, id);
  const answered = await call.sessions.answer(id, params.tool_use_id, {
    content: body.content,
    isError: body.is_error,
  });
  const { disposition, reason, sequence } = answered;
  if (disposition === "refused") throw new KnownError("not_awaiting", reason);
  return { session_id: id, tool_use_id: params.tool_use_id, disposition, reason, event_sequence: sequence };
}

/** One line per tool call of the log. A call that was started and has no result yet is `running`. */
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
        started_at: event.created_at,
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
        completed_at: event.created_at,
        duration_ms,
      });
    }
  }
  return [...effects.values()];
}
