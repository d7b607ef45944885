import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Call, createSimulator } from "@skein/simulator";
import type { Store } from "@skein/core";
import { checkHistory } from "@skein/core/testing";
import type { History, StoredSession, Violation } from "../../packages/core/src/testing/check-history/history.ts";
import { startEffectsServer } from "./effects-server.ts";
import { createLoopClient } from "./loop-client.ts";
import { begunIn } from "./loop-agent.ts";
import type { AdapterName } from "./loop-models.ts";
import type { LoopWorkerTask } from "./loop-worker.ts";
import { type Place, type StoreName, openStore } from "./open-store.ts";
import { createRandom } from "./random.ts";

export interface LoopCampaign {
  readonly store: Exclude<StoreName, "filesystem">;
  readonly place: Place;
  readonly cycles: number;
  readonly seed: number;
  readonly sessions?: number;
  /** The adapter that calls the model. */
  readonly adapter: AdapterName;
  readonly delayMs?: readonly [least: number, most: number];
  /** Called between two kills, for example to restart the database. */
  readonly disturb?: () => Promise<void>;
  readonly progress?: (text: string) => void;
}

export interface LoopOutcome {
  readonly store: string;
  readonly adapter: AdapterName;
  readonly kills: number;
  readonly prompts: number;
  readonly events: number;
  readonly effects: number;
  readonly unknown: number;
  readonly modelCalls: number;
  readonly abandoned: number;
  /** The longest time between the moment when a new worker is ready and the first event that it stores. */
  readonly slowestResumeMs: number;
  readonly violations: readonly (Violation | { readonly invariant: string; readonly sentence: string })[];
}

const LEASE_MS = 4000;

/** Repeatedly kills a worker that runs sessions. Afterwards the log, the effects and the model's calls must agree. */
export async function runLoopCampaign(campaign: LoopCampaign): Promise<LoopOutcome> {
  const random = createRandom(campaign.seed);
  const [least, most] = campaign.delayMs ?? [50, 1500];
  const simulator = await createSimulator({ keepCalls: 1_000_000, keepBodies: 0 });
  const effects = await startEffectsServer(() => random.int(30));
  const store = await openStore(campaign.store, campaign.place);
  const task: LoopWorkerTask = {
    store: campaign.store,
    place: campaign.place,
    modelUrl: simulator.url,
    adapter: campaign.adapter,
    effectsUrl: effects.url,
    leaseMs: LEASE_MS,
  };
  let worker: ChildProcess | undefined;
  const resumes: number[] = [];
  try {
    const client = await createLoopClient(store, campaign.sessions ?? 20, random);
    for (let cycle = 0; cycle < campaign.cycles; cycle++) {
      await client.feed();
      const news = firstNews(store);
      const begin = client.beginning();
      worker = await startWorker({ ...task, begin });
      // The measurement does not include the start of Node, which only shows how busy the machine is.
      const ready = Date.now();
      let said = "";
      worker.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
      const heard = await Promise.race([news.heard, sleep(10_000)]);
      news.stop();
      if (heard !== undefined) resumes.push(Math.max(0, heard - ready));
      const until = Date.now() + random.between(least, most);
      while (Date.now() < until) {
        await client.feed();
        await sleep(20);
      }
      await kill(worker);
      await client.begun(begin, begunIn(said));
      await campaign.disturb?.();
      campaign.progress?.(
        `${campaign.store}, ${campaign.adapter}: ${cycle + 1} of ${campaign.cycles} kills, ${client.operations.length} operations`,
      );
    }
    worker = await startWorker(task);
    const deadline = Date.now() + LEASE_MS + 30_000;
    while (!(await client.finished()) && Date.now() < deadline) await sleep(50);
    const sessions = await Promise.all(client.sessionIds.map((id) => stored(store, id)));
    const history: History = {
      operations: client.operations,
      sessions,
      acts: [],
      effects: effects.effects,
      modelCalls: null,
      streams: [],
      errors: [],
      mustFinish: true,
    };
    const events = sessions.flatMap((session) => session.events);
    const calls = simulator.ledger.calls();
    return {
      store: campaign.store,
      adapter: campaign.adapter,
      kills: campaign.cycles,
      prompts: client.operations.filter(({ kind }) => kind === "prompt").length,
      events: events.length,
      effects: effects.effects.length,
      unknown: events.filter((event) => event.event_type === "tool.completed" && event.data.outcome === "unknown")
        .length,
      modelCalls: calls.length,
      abandoned: events.filter(({ event_type }) => event_type === "step.abandoned").length,
      slowestResumeMs: Math.max(0, ...resumes),
      violations: [...checkHistory(history), ...unaccounted(sessions, calls), ...slowResumes(resumes)],
    };
  } finally {
    if (worker) await kill(worker);
    await store.close();
    await effects.close();
    await simulator.close();
  }
}

/**
 * Checks that the log has every model call: as an answer with the reported usage, as an abandoned call, or as a retry.
 */
function unaccounted(
  sessions: readonly StoredSession[],
  calls: readonly Call[],
): { invariant: string; sentence: string }[] {
  const found: { invariant: string; sentence: string }[] = [];
  for (const { events } of sessions)
    for (const prompt of events) {
      if (prompt.event_type !== "prompt.accepted" || typeof prompt.data.content !== "string") continue;
      const [label = ""] = prompt.data.content.split(" ");
      const asked = calls.filter((call) => call.label === label);
      const ofRun = events.filter((event) => (event.data as { run_id?: string }).run_id === prompt.data.run_id);
      const answered = ofRun.filter(({ event_type }) => event_type === "step.generated");
      const abandoned = ofRun.filter(({ event_type }) => event_type === "step.abandoned").length;
      if (answered.length > asked.length)
        found.push({
          invariant: "I12",
          sentence: `${label}: the log has ${answered.length} answers, but the model gave ${asked.length}.`,
        });
      if (asked.length - answered.length > abandoned + retriesIn(ofRun))
        found.push({
          invariant: "I12",
          sentence: `${label}: the model was asked ${asked.length} times, but the log has ${answered.length} answers and ${abandoned} abandoned calls.`,
        });
      for (const event of answered) {
        const usage = event.event_type === "step.generated" ? event.data.usage : undefined;
        const same = asked.some(
          (call) =>
            call.usage?.output_tokens === usage?.output_tokens && call.usage?.input_tokens === usage?.input_tokens,
        );
        if (!same)
          found.push({
            invariant: "I12",
            sentence: `${label}: an answer in the log has a usage that the model never reported.`,
          });
      }
    }
  return found;
}

function retriesIn(events: readonly { event_type: string }[]): number {
  return events.filter(({ event_type }) => event_type === "step.retried").length;
}

function slowResumes(resumes: readonly number[]): { invariant: string; sentence: string }[] {
  const slow = resumes.filter((ms) => ms > 2000);
  return slow.length === 0
    ? []
    : [
        {
          invariant: "resume",
          sentence: `Sessions continued more than 2 s after ${slow.length} new workers had started: ${slow.join(", ")} ms.`,
        },
      ];
}

async function stored(store: Store, sessionId: string): Promise<StoredSession> {
  const session = await store.get(sessionId);
  if (!session) throw new Error(`Session ${sessionId} is gone.`);
  const { items: runs } = await store.runs(sessionId, { limit: 100_000 });
  const { items: messages } = await store.messages(sessionId, { limit: 1_000_000 });
  return { sessionId, session, events: await store.read(sessionId), runs: runs.toReversed(), messages };
}

/** Waits for the next append of another process. `heard` resolves with its time. */
function firstNews(store: Store): { readonly heard: Promise<number>; stop(): void } {
  let stop = (): void => {};
  const heard = new Promise<number>((resolve) => {
    stop = store.onNews((_, events) => events === undefined && resolve(Date.now()));
  });
  return { heard, stop: () => stop() };
}

export async function startWorker(task: LoopWorkerTask): Promise<ChildProcess> {
  const args = [...process.execArgv, `${import.meta.dirname}/loop-worker.ts`, JSON.stringify(task)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await Promise.race([once(child.stdout as NodeJS.ReadableStream, "data"), once(child, "exit")]);
  return child;
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
