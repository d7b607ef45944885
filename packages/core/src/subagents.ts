import { createHash } from "node:crypto";
import { type Fact, type Ids, type NewEvent, type Session, isKnownError } from "@skein/protocol";
import type { Subagents } from "./ports.ts";
import type { SessionAgent } from "./agents.ts";
import type { Store } from "./store.ts";

export interface SubagentsDeps {
  readonly store: Store;
  /** The agents that a subagent tool may name. */
  readonly agentNamed: (name: string) => SessionAgent | undefined;
  readonly now: () => number;
  readonly ids: Ids;
}

/** Sessions that work for a call of another session. Whatever is repeated after a crash finds what is there. */
export function createSubagents({ store, agentNamed, now, ids }: SubagentsDeps): Subagents {
  const event = (fact: Fact, id = ids()): NewEvent => ({ ...fact, id });

  return {
    async start({ state, toolUseId, agent: name, input, maxCostMicros }) {
      const agent = agentNamed(name);
      if (!agent) return { problem: `There is no agent named "${name}".` };
      const task = taskOf(input);
      if (task === undefined) return { problem: 'The call needs a "prompt" that says what to do.' };
      const sessionId = derivedId("subagent", state.sessionId, toolUseId);
      const created = event({
        event_type: "session.created",
        data: {
          tenant: state.tenant,
          agent_id: agent.id,
          agent_version: agent.version,
          agent: agent.config,
          title: null,
          tags: [],
          model_id: null,
          working_directory: state.workingDirectory,
          metadata: {},
          parent: null,
          subagent_of: { session_id: state.sessionId, tool_use_id: toolUseId },
        },
      });
      const prompt = event({
        event_type: "prompt.accepted",
        data: {
          message_id: ids(),
          run_id: ids(),
          mode: "queue",
          content: task,
          model: null,
          max_cost_micros: maxCostMicros,
        },
      });
      try {
        await store.append(sessionId, [created, prompt], { expect: 0, dueAt: now() });
      } catch (error) {
        // It was begun before a crash: then it goes on by itself.
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
        const data = { run_id: prompt.data.run_id, reason: "The run that asked for this was ended." };
        const id = derivedId("cancel", state.sessionId, toolUseId);
        await store.append(sessionId, [event({ event_type: "cancel.requested", data }, id)], { dueAt: now() });
      });
    },
    inform: (parent, answer) => answerCall(store, parent, answer, now()),
  };
}

/** Answers the call that a subagent works on, once. */
async function answerCall(
  store: Store,
  { session_id, tool_use_id }: Parameters<Subagents["inform"]>[0],
  { content, isError, costMicros }: Parameters<Subagents["inform"]>[1],
  dueAt: number,
): Promise<void> {
  const id = derivedId("answer", session_id, tool_use_id);
  const data = { tool_use_id, content, is_error: isError, cost_micros: costMicros };
  await unlessDeleted(() => store.append(session_id, [{ id, event_type: "await.answered", data }], { dueAt }));
}

/** A subagent that is about to be deleted and has not answered: its parent would wait for it for ever. */
export async function answerForDeleted(store: Store, session: Session, dueAt: number): Promise<void> {
  const { subagent_of_session_id: session_id, subagent_of_tool_use_id: tool_use_id, total_turns } = session;
  if (session_id === null || tool_use_id === null || total_turns > 0) return;
  const content = "The session that worked on this was deleted.";
  const answer = { content, isError: true, costMicros: session.cost_micros };
  await answerCall(store, { session_id, tool_use_id }, answer, dueAt);
}

/** A session that was deleted waits for nothing and works on nothing any more. */
async function unlessDeleted(tell: () => Promise<unknown>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    if (!isKnownError(error, "not_found")) throw error;
  }
}

/** A UUID (version 8) made from names, so that the same call always leads to the same session. */
export function derivedId(...names: readonly string[]): string {
  const bytes = createHash("sha256").update(JSON.stringify(names)).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function taskOf(input: unknown): string | undefined {
  const { prompt, task } = (input ?? {}) as { prompt?: unknown; task?: unknown };
  const text = typeof prompt === "string" ? prompt : task;
  return typeof text === "string" && text !== "" ? text : undefined;
}
