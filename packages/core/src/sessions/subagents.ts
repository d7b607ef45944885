import { type Fact, type Ids, type NewEvent, type Session, isKnownError, microsOf } from "@skein/protocol";
import { derivedId } from "./derived-id.ts";
import type { Subagents } from "../ports/subagents.ts";
import type { SessionAgent } from "./agents.ts";
import { awaitAnswered, cancelRequested, promptAccepted, sessionCreated } from "./session-facts.ts";
import type { Store } from "../ports/store.ts";

export interface SubagentsDeps {
  readonly store: Store;
  /** The agents that a subagent tool may name. */
  readonly agentNamed: (name: string) => SessionAgent | undefined;
  readonly now: () => number;
  readonly ids: Ids;
}

/** Creates the operations on subagents. Every operation can be repeated after a crash. */
export function createSubagents({ store, agentNamed, now, ids }: SubagentsDeps): Subagents {
  const event = (fact: Fact, id = ids()): NewEvent => ({ ...fact, id });

  return {
    async start({ state, toolUseId, agent: name, input, maxCostMicros }) {
      const agent = agentNamed(name);
      if (!agent) return { problem: `There is no agent named "${name}".` };
      const task = taskOf(input);
      if (task === undefined) return { problem: 'The call needs a "prompt" that says what to do.' };
      const sessionId = derivedId("subagent", state.sessionId, toolUseId);
      const created = event(
        sessionCreated({
          tenant: state.tenant,
          agent_id: agent.id,
          agent_version: agent.version,
          agent: agent.config,
          working_directory: state.workingDirectory,
          subagent_of: { session_id: state.sessionId, tool_use_id: toolUseId },
          ...(state.openedBy !== null && { opened_by: state.openedBy }),
        }),
      );
      const own = { message_id: ids(), run_id: ids(), mode: "queue" as const };
      const keyName = state.run?.prompt.key_name;
      const asked = {
        content: task,
        max_cost_micros: maxCostMicros,
        ...(keyName !== undefined && { key_name: keyName }),
      };
      const prompt = event(promptAccepted({ ...own, ...asked }));
      try {
        await store.append(sessionId, [created, prompt], { expect: 0, dueAt: now() });
      } catch (error) {
        // A conflict means that the subagent was started before a crash. It continues without a second start.
        if (!isKnownError(error, "conflict")) throw error;
      }
      return { sessionId };
    },
    async cancel({ state, toolUseId }) {
      const sessionId = derivedId("subagent", state.sessionId, toolUseId);
      await unlessDeleted(async () => {
        const begun = await store.read(sessionId, { limit: 2 });
        const prompt = begun.find((fact) => fact.event_type === "prompt.accepted");
        if (!prompt) return;
        const cancel = cancelRequested(prompt.data.run_id, "The run that started this subagent was ended.");
        const id = derivedId("cancel", state.sessionId, toolUseId);
        await store.append(sessionId, [event(cancel, id)], { dueAt: now() });
      });
    },
    inform: (parent, answer) => answerCall(store, parent, answer, now()),
  };
}

/** Answers the call that started a subagent. A repeated answer is not stored twice. */
async function answerCall(
  store: Store,
  { session_id, tool_use_id }: Parameters<Subagents["inform"]>[0],
  { content, isError, costPicos, reservedMicros }: Parameters<Subagents["inform"]>[1],
  dueAt: number,
): Promise<void> {
  const id = derivedId("answer", session_id, tool_use_id);
  const answered = awaitAnswered({
    tool_use_id,
    content,
    is_error: isError,
    cost_micros: microsOf(BigInt(costPicos)),
    cost_picos: costPicos,
    ...(reservedMicros > 0 && { reserved_micros: reservedMicros }),
  });
  await unlessDeleted(() => store.append(session_id, [{ ...answered, id }], { dueAt }));
}

/** Answers the call of the parent before its subagent is deleted. Without an answer, the parent would wait for ever. */
export async function answerForDeleted(store: Store, session: Session, dueAt: number): Promise<void> {
  const { subagent_of_session_id: session_id, subagent_of_tool_use_id: tool_use_id, total_turns } = session;
  if (session_id === null || tool_use_id === null || total_turns > 0) return;
  const content = "The subagent's session was deleted.";
  const { cost_picos: costPicos, reserved_micros: reservedMicros } = session;
  const answer = { content, isError: true, costPicos, reservedMicros };
  await answerCall(store, { session_id, tool_use_id }, answer, dueAt);
}

/** Ignores the error of a session that was deleted. */
async function unlessDeleted(tell: () => Promise<unknown>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    if (!isKnownError(error, "not_found")) throw error;
  }
}

function taskOf(input: unknown): string | undefined {
  const { prompt, task } = (input ?? {}) as { prompt?: unknown; task?: unknown };
  const text = typeof prompt === "string" ? prompt : task;
  return typeof text === "string" && text !== "" ? text : undefined;
}
