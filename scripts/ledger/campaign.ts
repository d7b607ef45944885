/** Cancels, cuts and kills the model calls of runs, and compares the usage of each run with the simulator's counts. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Event } from "@skein/protocol";
import { type Simulator, type Step, createSimulator, script } from "@skein/simulator";
import { type Agent, createAgent } from "skein";
import { type Random, createRandom } from "../kill/random.ts";
import { brokenIn, checkedSession, checkedTotals, isTold } from "./compare.ts";

export interface LedgerOptions {
  readonly cancels: number;
  readonly cuts: number;
  /** The number of sessions whose worker is killed. A worker runs several sessions. */
  readonly kills: number;
  /** The number of sessions whose agent is closed during an answer. Another agent continues them. */
  readonly stops: number;
  readonly seed: number;
  /** The address of a store that nobody else uses. */
  readonly store: string;
}

export interface LedgerOutcome {
  readonly sessions: number;
  readonly calls: number;
  /**
   * How many model calls had no complete answer (`broken`), and for how many of these calls the stream had reported
   * usage (`told`).
   */
  readonly broken: number;
  readonly told: number;
  readonly violations: readonly string[];
}

/** The number of sessions that each killed process runs. */
const PER_PROCESS = 20;
const AGENT = { name: "Ledger", apiKey: "test", base_delay: 0.001, max_retries: 3, leaseMs: 1000 };

export async function runLedgerCampaign(options: LedgerOptions): Promise<LedgerOutcome> {
  const random = createRandom(options.seed);
  const simulator = await createSimulator({ keepCalls: 100_000, keepBodies: 0 });
  const labels = new Map<string, string>();
  try {
    for (let done = 0; done < options.kills; done += PER_PROCESS)
      await killed({ options, simulator, labels, count: Math.min(PER_PROCESS, options.kills - done) });
    const agent = createAgent({ ...AGENT, baseUrl: simulator.url, store: options.store });
    try {
      for (const sessionId of labels.keys()) await agent.resume(sessionId);
      await stopped(agent, { options, simulator, labels });
      for (let n = 0; n < options.cancels; n += 1) await cancelled(agent, { random, labels, label: `cancel ${n}` });
      for (let n = 0; n < options.cuts; n += 1) await cut(agent, { random, labels, label: `cut ${n}` });
      return await compared(agent, simulator, labels);
    } finally {
      await agent.close();
    }
  } finally {
    await simulator.close();
  }
}

interface Trouble {
  readonly random: Random;
  /** Maps sessions to the labels of their scripts. */
  readonly labels: Map<string, string>;
  readonly label: string;
}

const text = (random: Random): string => "Once upon a time. ".repeat(random.between(2, 30));

/** Cancels a run after some drafts (pieces of an answer), or before the first draft. */
async function cancelled(agent: Agent, { random, labels, label: name }: Trouble): Promise<void> {
  const drafts = random.int(6);
  const label = drafts === 0 ? name : `heard ${name}`;
  const step: Step = drafts === 0 ? { text: "never", hang: true } : { text: text(random), chunk: 6, chunkDelayMs: 1 };
  const stop = new AbortController();
  let seen = 0;
  for await (const event of agent.stream(prompt(label, [step]), { signal: stop.signal })) {
    if ("session_id" in event) labels.set(event.session_id, label);
    if (drafts === 0 && event.event_type === "step.started") stop.abort();
    if (event.event_type === "step.generating" && (seen += 1) === drafts) stop.abort();
  }
}

/** Closes an agent while answers arrive in its sessions, and continues the sessions with the agent `next`. */
async function stopped(next: Agent, { options, simulator, labels }: Omit<KilledTask, "count">): Promise<void> {
  const agent = createAgent({ ...AGENT, baseUrl: simulator.url, store: options.store });
  const names = Array.from({ length: options.stops }, (_, n) => `stop ${n}`);
  const step: Step = { text: "Once upon a time. ", chunk: 6, hang: { afterChunks: 2, times: 1 } };
  const begun = names.map((label) => {
    const begins = Promise.withResolvers<void>();
    const watch = async (): Promise<void> => {
      for await (const event of agent.stream(prompt(label, [step]))) {
        if ("session_id" in event) labels.set(event.session_id, label);
        if (event.event_type === "step.generating") begins.resolve();
      }
    };
    // The stream throws when the agent is closed.
    watch().catch(() => undefined);
    return begins.promise;
  });
  await Promise.all(begun);
  await agent.close();
  for (const [sessionId, label] of labels) if (names.includes(label)) await next.resume(sessionId);
}

/** Breaks the connection of a model call in some or all of its attempts. */
async function cut(agent: Agent, { random, labels, label }: Trouble): Promise<void> {
  const times = random.between(1, 5);
  const step: Step = { text: text(random), chunk: 6, cut: { afterBytes: random.int(3000), times } };
  const { sessionId } = await agent.run(prompt(label, [step]));
  labels.set(sessionId, label);
}

/** Runs sessions in a separate process, and kills the process while answers arrive. */
async function killed({ options, simulator, labels, count }: KilledTask): Promise<void> {
  const path = fileURLToPath(new URL("worker.ts", import.meta.url));
  const names = Array.from({ length: count }, (_, n) => `kill ${labels.size + n}`);
  const prompts = names.map((label) =>
    prompt(label, [{ text: "Once upon a time. ".repeat(200), chunk: 6, chunkDelayMs: 20 }]),
  );
  const task = JSON.stringify({ ...AGENT, baseUrl: simulator.url, store: options.store, prompts });
  const args = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", path, task];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  for await (const line of linesOf(child.stdout)) {
    const { at, sessionId } = JSON.parse(line) as { at: number; sessionId: string };
    labels.set(sessionId, names[at] ?? "");
    if (names.every((name) => [...labels.values()].includes(name))) child.kill("SIGKILL");
  }
  await exited;
}

interface KilledTask {
  readonly options: LedgerOptions;
  readonly simulator: Simulator;
  readonly labels: Map<string, string>;
  readonly count: number;
}

async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of stream) {
    const lines = `${rest}${piece.toString()}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

function prompt(label: string, steps: readonly Step[]): string {
  return `${label} ${script(steps, label)}`;
}

async function compared(
  agent: Agent,
  simulator: Simulator,
  labels: ReadonlyMap<string, string>,
): Promise<LedgerOutcome> {
  const sessions = await agent.sessions();
  const all: Event[] = [];
  const violations: string[] = [];
  for (const [sessionId, label] of labels) {
    const events = await sessions.events(sessionId);
    all.push(...events);
    const wasTold = label.startsWith("stop ") || label.startsWith("heard ");
    violations.push(...checkedSession({ label, wasTold }, events, simulator.ledger.calls({ label })));
  }
  violations.push(...checkedTotals(all, await sessions.usage({ by: "session" })));
  const broken = brokenIn(all);
  return {
    sessions: labels.size,
    calls: simulator.ledger.calls({ kind: "messages" }).length,
    broken: broken.length,
    told: broken.filter(isTold).length,
    violations,
  };
}
