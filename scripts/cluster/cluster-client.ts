import { setTimeout as sleep } from "node:timers/promises";
import { SkeinError, createClient } from "@skein/client";
import type { Operation, Stream } from "@skein/core/testing";
import { script } from "@skein/simulator";
import { createRandom } from "../kill/random.ts";
import type { Cluster } from "./start-cluster.ts";

/** Callers of a cluster that breaks: they try again with the same key until they are answered. */
export interface Client {
  /** The id of a new session; undefined if it is over before there is an answer. */
  create(operations: Operation[], over: AbortSignal): Promise<string | undefined>;
  prompt(
    operations: Operation[],
    asked: { readonly sessionId: string; readonly label: string },
    over: AbortSignal,
  ): Promise<void>;
  /** Reads a session over as many connections as it takes, until it is over. */
  follow(stream: Stream, onRunEnded: () => void, over: AbortSignal): Promise<void>;
}

const AGAIN_MS = 150;

export async function createClusterClient(cluster: Cluster, seed: number): Promise<Client> {
  const random = createRandom(seed + 1);
  const client = createClient({ url: cluster.url, apiKey: cluster.apiKey });
  const agent = await client.createAgent({
    body: { name: "Chaos", tools: ["act_once", "act_again"], max_retries: 20 },
  });
  let keys = 0;

  /** Asks until there is an answer that is not "later". */
  async function patiently<Answer>(
    operation: Operation,
    over: AbortSignal,
    ask: (key: string) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    while (!over.aborted) {
      try {
        const answer = await ask(operation.key ?? "");
        operation.outcome = "ok";
        return answer;
      } catch (error) {
        if (
          error instanceof SkeinError &&
          error.status >= 400 &&
          error.status < 500 &&
          error.status !== 409 &&
          error.status !== 429
        ) {
          operation.outcome = "refused";
          throw error;
        }
        await sleep(AGAIN_MS);
      }
    }
    return undefined;
  }

  function begun(operations: Operation[], kind: Operation["kind"], text: string, sessionId: string | null): Operation {
    const operation: Operation = {
      client: "chaos",
      kind,
      outcome: "unknown",
      key: `chaos-${seed}-${(keys += 1)}`,
      text,
      sessionId,
      messageId: null,
      sequence: null,
    };
    operations.push(operation);
    return operation;
  }

  return {
    async create(operations, over) {
      const title = `Session ${keys}`;
      const operation = begun(operations, "create", title, null);
      const made = await patiently(operation, over, (key) =>
        client.createSession({ body: { agent_id: agent.id, title }, idempotencyKey: key }),
      );
      operation.sessionId = made?.id ?? null;
      return made?.id;
    },
    async prompt(operations, { sessionId, label }, over) {
      const steps = [
        { text: "First.", tools: [{ name: "act_once", input: { n: 1 } }] },
        { text: "Then.", tools: [{ name: "act_again", input: { n: 2 } }], chunk: 4, chunkDelayMs: random.int(30) },
        { text: `Done with ${label}.` },
      ];
      const content = `Please do ${label}. ${script(steps, label)}`;
      const operation = begun(operations, "prompt", content, sessionId);
      const accepted = await patiently(operation, over, (key) =>
        client.postMessage({
          params: { session_id: sessionId },
          body: { role: "user", content: { text: content } },
          idempotencyKey: key,
        }),
      );
      if (accepted) Object.assign(operation, { messageId: accepted.message.id, sequence: accepted.event_sequence });
    },
    async follow(stream, onRunEnded, over) {
      while (!over.aborted) {
        try {
          const after = stream.events.at(-1)?.sequence ?? 0;
          for await (const item of client.follow(stream.sessionId, { after, signal: over })) {
            if (item.type !== "event") continue;
            const { event } = item;
            stream.events.push(event);
            if (event.event_type === "session.completed" || event.event_type === "session.failed") onRunEnded();
          }
        } catch {
          await sleep(AGAIN_MS);
        }
      }
    },
  };
}
