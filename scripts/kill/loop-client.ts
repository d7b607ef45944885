import { type Sessions, type Store, createSessions } from "@skein/core";
import { type Event, createIds, isKnownError } from "@skein/protocol";
import { script } from "@skein/simulator";
import { setTimeout as sleep } from "node:timers/promises";
import type { Operation } from "../../packages/core/src/testing/check-history/history.ts";
import { agent } from "./loop-agent.ts";
import type { Random } from "./random.ts";

/**
 * A client that prompts sessions again as soon as they have answered. It repeats each request until it gets an answer.
 */
export interface LoopClient {
  readonly operations: Operation[];
  readonly sessionIds: readonly string[];
  /** Describes a new session. The worker creates this session, takes its lease and begins its first step. */
  beginning(): Beginning;
  /** Called after the worker's death. `messageId` is undefined if the worker had not reported the session. */
  begun(beginning: Beginning, messageId: string | undefined): Promise<void>;
  /** Prompts every session that has nothing to do. */
  feed(): Promise<void>;
  /** Whether every accepted prompt has had its answer. */
  finished(): Promise<boolean>;
}

export interface Beginning {
  readonly sessionId: string;
  readonly title: string;
  readonly text: string;
}

export async function createLoopClient(store: Store, count: number, random: Random): Promise<LoopClient> {
  const ids = createIds();
  const sessions: Sessions = createSessions({ store, ids });
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

  function words(): { label: string; text: string } {
    const label = `prompt-${(prompts += 1)}`;
    return { label, text: `${label} ${script(steps(random), label)}` };
  }

  async function prompt(sessionId: string): Promise<void> {
    const { label, text } = words();
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
    beginning() {
      const { label, text } = words();
      return { sessionId: ids(), title: `begin-${label}`, text };
    },
    async begun({ sessionId, title, text }, messageId) {
      const [created] = await persistently(() => store.read(sessionId).catch(gone));
      const wasTold = messageId !== undefined;
      // The worker died before it created the session, so there is nothing to check.
      if (!created && !wasTold) return;
      const asked = { client: "worker", outcome: wasTold ? "ok" : "unknown", key: null, sessionId } as const;
      operations.push({ ...asked, kind: "create", text: title, messageId: null, sequence: wasTold ? 1 : null });
      operations.push({
        ...asked,
        kind: "prompt",
        text,
        messageId: messageId ?? null,
        sequence: wasTold ? 2 : null,
      });
      sessionIds.push(sessionId);
    },
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

/**
 * The model asks for two tool calls at once, then for another call, and then answers. Each step takes some
 * milliseconds, so that a kill usually hits an open call.
 */
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

function gone(error: unknown): readonly Event[] {
  if (isKnownError(error, "not_found")) return [];
  throw error;
}

/** Retries a request while the store is unavailable, as a client does. */
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
