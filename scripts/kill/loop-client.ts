import { type Sessions, type Store, createSessions } from "@skein/core";
import { scriptedAgent } from "@skein/core/testing";
import { createIds, isKnownError } from "@skein/protocol";
import { script } from "@skein/simulator";
import { setTimeout as sleep } from "node:timers/promises";
import type { Operation } from "../../packages/core/src/testing/check-history/history.ts";
import type { Random } from "./random.ts";

const agent = {
  id: "01890000-0000-7000-8000-000000000001",
  version: 1,
  status: "active" as const,
  config: {
    ...scriptedAgent,
    model: "claude-sonnet-5-5",
    max_retries: 20,
    base_delay: 0.05,
    tool_schemas: ["act_once", "act_again"].map((name) => ({
      name,
      description: "Has an effect.",
      input_schema: { type: "object", properties: { n: { type: "number" } } },
    })),
  },
};

/** What a client does: sessions that are prompted again as soon as they have answered, each request repeated until it is answered. */
export interface LoopClient {
  readonly operations: Operation[];
  readonly sessionIds: readonly string[];
  /** Prompts every session that has nothing to do. */
  feed(): Promise<void>;
  /** Whether every accepted prompt has had its answer. */
  finished(): Promise<boolean>;
}

export async function createLoopClient(store: Store, count: number, random: Random): Promise<LoopClient> {
  const sessions: Sessions = createSessions({ store, ids: createIds() });
  const operations: Operation[] = [];
  const sessionIds: string[] = [];
  let prompts = 0;

  for (let i = 0; i < count; i++) {
    const key = `create-${i}`;
    const session = await persistently(() => sessions.create(agent, { title: key }, { id: key, fingerprint: key }));
    sessionIds.push(session.id);
    operations.push({
      client: "client",
      kind: "create",
      outcome: "ok",
      key,
      text: key,
      sessionId: session.id,
      messageId: null,
      sequence: 1,
    });
  }

  async function prompt(sessionId: string): Promise<void> {
    const label = `prompt-${(prompts += 1)}`;
    const text = `${label} ${script(steps(random), label)}`;
    const operation: Operation = {
      client: "client",
      kind: "prompt",
      outcome: "unknown",
      key: label,
      text,
      sessionId,
      messageId: null,
      sequence: null,
    };
    operations.push(operation);
    const accepted = await persistently(() => sessions.prompt(sessionId, text, { id: label, fingerprint: label }));
    Object.assign(operation, { outcome: "ok", messageId: accepted.messageId, sequence: accepted.sequence });
  }

  return {
    operations,
    sessionIds,
    async feed() {
      for (const id of sessionIds) {
        const session = await persistently(() => sessions.get(id));
        if (session.status === "idle" && session.total_runs === promptsOf(id)) await prompt(id);
      }
    },
    async finished() {
      for (const id of sessionIds) {
        const session = await persistently(() => sessions.get(id));
        if (session.status !== "idle" || session.total_runs < promptsOf(id)) return false;
      }
      return true;
    },
  };

  function promptsOf(id: string): number {
    return operations.filter(({ kind, sessionId }) => kind === "prompt" && sessionId === id).length;
  }
}

/** Two calls side by side, one more, then an answer; a few milliseconds each, so that a kill finds something open. */
function steps(random: Random) {
  const delayMs = random.int(40);
  return [
    {
      text: "Acting.",
      tools: [
        { name: "act_once", input: { n: 1 } },
        { name: "act_again", input: { n: 2 } },
      ],
      delayMs,
    },
    { tools: [{ name: "act_once", input: { n: 3 } }], delayMs },
    { text: "Done.", delayMs },
  ];
}

/** Repeats what could not be answered, as a client does whose server is away. */
async function persistently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isKnownError(error, "store_unavailable")) throw error;
      await sleep(50);
    }
  }
}
