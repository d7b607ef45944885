import { setTimeout as sleep } from "node:timers/promises";
import { SkeinError, createClient } from "@skein/client";
import type { Operation, Stream } from "@skein/core/testing";
import { script } from "@skein/simulator";
import { createRandom } from "../kill/random.ts";
import type { Wait } from "./stalls.ts";
import type { Cluster } from "./start-cluster.ts";

/** Clients of a failing cluster: they retry with the same Idempotency-Key until they get an answer. */
export interface Client {
  /** How long each request took until it was accepted, with its retries. */
  readonly requests: readonly Wait[];
  /** How long each event took to reach its reader. */
  readonly deliveries: readonly Wait[];
  /** Creates a session and returns its id. Undefined if the campaign ends before the answer. */
  create(operations: Operation[], over: AbortSignal): Promise<string | undefined>;
  /** Like `create`, for a session of Claude Code, which begins with its first prompt. */
  createClaude(
    operations: Operation[],
    asked: { readonly cwd: string; readonly label: string },
    over: AbortSignal,
  ): Promise<string | undefined>;
  prompt(
    operations: Operation[],
    asked: { readonly sessionId: string; readonly label: string; readonly isClaude?: boolean },
    over: AbortSignal,
  ): Promise<void>;
  /** Reads a session until the campaign is over, and reconnects as often as needed. */
  follow(stream: Stream, onRunEnded: () => void, over: AbortSignal): Promise<void>;
}

const AGAIN_MS = 150;

/** A prompt that lets Claude Code cause exactly one effect: one line in the file `effects` of its folder. */
function claudePrompt(label: string): string {
  const steps = [
    {
      text: "First.",
      tools: [{ name: "Bash", input: { command: `echo ${label} $(date +%s%3N) >> effects; sleep 0.2` } }],
    },
    { text: `Done with ${label}.`, chunk: 4, chunkDelayMs: 20 },
  ];
  return `Please do ${label}. ${script(steps, label)}`;
}

/** Begins a session over the Claude API, and disconnects when the stream has named the session. */
async function beginClaude(
  { url, apiKey }: Cluster,
  { prompt, cwd, key }: { readonly prompt: string; readonly cwd: string; readonly key: string },
): Promise<string> {
  const answer = await fetch(`${url}/api/v1/query`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": apiKey, "idempotency-key": key },
    body: JSON.stringify({ prompt, cwd, allowed_tools: ["Bash"], permission_mode: "dontAsk" }),
  });
  let text = "";
  if (!answer.ok || !answer.body) {
    const message = `A query was answered with ${answer.status}: ${await answer.text()}`;
    throw new SkeinError(answer.status, { code: "invalid", message, request_id: "" });
  }
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const sessionId = /"session_id":"([0-9a-f-]{36})"/.exec(text)?.[1];
    if (sessionId !== undefined) return sessionId;
  }
  throw new Error(`The stream of a query ended before it named its session: ${text.slice(0, 300)}`);
}

export async function createClusterClient(cluster: Cluster, seed: number): Promise<Client> {
  const random = createRandom(seed + 1);
  const client = createClient({ url: cluster.url, apiKey: cluster.apiKey });
  const agent = await client.createAgent({
    body: { name: "Chaos", tools: ["act_once", "act_again"], max_retries: 20 },
  });
  const requests: Wait[] = [];
  const deliveries: Wait[] = [];
  let keys = 0;

  /** Retries until the request is accepted. Throws if the response has a status 4xx other than 409 and 429. */
  async function patiently<Answer>(
    operation: Operation,
    over: AbortSignal,
    ask: (key: string) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const from = Date.now();
    while (!over.aborted) {
      try {
        const answer = await ask(operation.key ?? "");
        operation.outcome = "ok";
        requests.push({ from, to: Date.now(), where: `${operation.kind} at ${new Date(from).toISOString()}` });
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
        // After a 503, waits for about the time that the response names (Retry-After: 1), with a random part so that
        // clients do not retry at the same moment.
        const isAway = error instanceof SkeinError && error.status === 503;
        await sleep(isAway ? 500 + random.int(1000) : AGAIN_MS);
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
    requests,
    deliveries,
    async create(operations, over) {
      const title = `Session ${keys}`;
      const operation = begun(operations, "create", title, null);
      const made = await patiently(operation, over, (key) =>
        client.createSession({ body: { agent_id: agent.id, title }, idempotencyKey: key }),
      );
      operation.sessionId = made?.id ?? null;
      return made?.id;
    },
    async createClaude(operations, { cwd, label }, over) {
      const prompt = claudePrompt(label);
      const operation = begun(operations, "prompt", prompt, null);
      const sessionId = await patiently(operation, over, (key) => beginClaude(cluster, { prompt, cwd, key }));
      operation.sessionId = sessionId ?? null;
      return sessionId;
    },
    async prompt(operations, { sessionId, label, isClaude = false }, over) {
      // Some sessions have a result that is too large for a row.
      const large = label.endsWith("0-1") && { padding: 300_000 };
      const steps = [
        { text: "First.", tools: [{ name: "act_once", input: { n: 1 } }] },
        {
          text: "Then.",
          tools: [{ name: "act_again", input: { n: 2, ...large } }],
          chunk: 4,
          chunkDelayMs: random.int(30),
        },
        { text: `Done with ${label}.` },
      ];
      const content = isClaude ? claudePrompt(label) : `Please do ${label}. ${script(steps, label)}`;
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
      // A session of Claude Code already has events when its reader learns its id. For these events, the delivery time
      // counts from now.
      const began = Date.now();
      while (!over.aborted) {
        try {
          const after = stream.events.at(-1)?.sequence ?? 0;
          for await (const item of client.follow(stream.sessionId, { after, signal: over })) {
            if (item.type !== "event") continue;
            const { event } = item;
            stream.events.push(event);
            const where = `event ${event.sequence} of session ${event.session_id}, made at ${event.created_at}`;
            deliveries.push({ from: Math.max(began, Date.parse(event.created_at)), to: Date.now(), where });
            if (event.event_type === "session.completed" || event.event_type === "session.failed") onRunEnded();
          }
        } catch {
          await sleep(AGAIN_MS);
        }
      }
    },
  };
}
