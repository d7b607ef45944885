import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { type Effect, type Operation, type Stream, type Violation, checkHistory } from "@skein/core/testing";
import type { Event } from "@skein/protocol";
import { startEffectsServer } from "../kill/effects-server.ts";
import { createRandom } from "../kill/random.ts";
import { type Client, createClusterClient } from "./cluster-client.ts";
import { faultsOf } from "./faults.ts";
import { type Stall, type StruckFault, longestStalls, longestWaits } from "./stalls.ts";
import { type Cluster, startCluster } from "./start-cluster.ts";
import { explainUnsettled } from "./unfinished-sessions.ts";

export interface ChaosOptions {
  readonly sessions: number;
  /** How many of the sessions use Claude Code. */
  readonly claude?: number;
  /** The least number of prompts for each session. Sessions get more prompts while faults continue. */
  readonly prompts: number;
  /**
   * The pause between an answer and the next prompt, in milliseconds. Without a pause, the result of many sessions
   * would depend only on the speed of the machine.
   */
  readonly thinkMs?: number;
  readonly strikes: number;
  /** The pause between two faults. */
  readonly everyMs: readonly [number, number];
  readonly postgresDownMs: number;
  readonly seed: number;
  readonly restateNodes?: number;
  /** How long the sessions may take to end after the last fault. Sessions that are unfinished then are reported. */
  readonly settleMs?: number;
  readonly say?: (line: string) => void;
  /** Selects faults by a part of their name. Default: all. */
  readonly only?: readonly string[];
}

export interface ChaosOutcome {
  readonly violations: readonly Violation[];
  readonly answered: number;
  readonly accepted: number;
  readonly effects: number;
  readonly struck: readonly string[];
  /** The longest gaps between two events of a session with a run, not counting outages of the store. */
  readonly worstStalls: readonly Stall[];
  /** The longest gaps in sessions of Claude Code, which need the start of a process. */
  readonly worstClaudeStalls: readonly Stall[];
  /**
   * `worstRequests` has the longest times until a request was accepted, with its retries. `worstDeliveries` has the
   * longest times until an event reached its reader.
   */
  readonly worstRequests: readonly Stall[];
  readonly worstDeliveries: readonly Stall[];
}

const SETTLE_MS = 90_000;

/** Runs sessions with tools on a whole cluster, while one part after the other fails. */
export async function runChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  const { say = () => {}, restateNodes } = options;
  const effects = await startEffectsServer(() => 5);
  const folder = mkdtempSync(join(tmpdir(), "skein-chaos-"));
  const config = fileURLToPath(new URL("skein.config.ts", import.meta.url));
  const cluster = await startCluster({
    config,
    ...(restateNodes !== undefined && { restate: restateNodes }),
    env: {
      CHAOS_EFFECTS_URL: effects.url,
      ...claudeSettings(options, folder),
      SKEIN_LIMITS: "requestsPerSecond=100000,requestBurst=100000,streams=1000,sessionsPerMinute=100000",
    },
  });
  say(`The cluster is up in ${cluster.folder}.`);
  try {
    const client = await createClusterClient(cluster, options.seed);
    const [calm, over] = [new AbortController(), new AbortController()];
    const [operations, streams]: [Operation[], Stream[]] = [[], []];
    const claude = new Map<string, string>();
    const pace = { operations, streams, claude, folder, calm: calm.signal, over: over.signal };
    const working = work(client, options, pace);
    // Errors are thrown where the promise is awaited.
    working.catch(() => undefined);
    const faults = await strike(cluster, options, say);
    calm.abort();
    say("The faults are over.");
    const isSettled = await Promise.race([
      working.then(() => true),
      sleep(options.settleMs ?? SETTLE_MS, false, { ref: false }),
    ]);
    if (!isSettled) (await explainUnsettled(cluster, { operations, streams })).forEach(say);
    over.abort();
    await working;
    const { violations, worstStalls, worstClaudeStalls } = await judge(cluster, {
      operations,
      streams,
      claude,
      effects: effects.effects,
      faults,
    });
    const ended = cluster.processes.filter(({ hasEnded }) => hasEnded()).map(({ name }) => endedByItself(name));
    const prompts = operations.filter(({ kind }) => kind === "prompt");
    return {
      violations: [...violations, ...ended],
      accepted: prompts.filter(({ outcome }) => outcome === "ok").length,
      answered: streams.reduce((sum, { events }) => sum + events.filter(isEnd).length, 0),
      effects: effects.effects.length,
      struck: faults.map(({ name }) => name),
      worstStalls,
      worstClaudeStalls,
      worstRequests: longestWaits(client.requests, faults),
      worstDeliveries: longestWaits(client.deliveries, faults),
    };
  } finally {
    await cluster.stop();
    await effects.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Work {
  readonly claude: ReadonlyMap<string, string>;
  readonly operations: readonly Operation[];
  readonly streams: readonly Stream[];
}

/** A violation: a process of Skein ended, although no fault killed it. */
function endedByItself(name: string): Violation {
  return { invariant: "I16", sentence: `${name} ended by itself: see its log.`, evidence: { name } };
}

/**
 * Returns the settings for sessions of Claude Code. If no such sessions are asked for, Claude Code is off, because the
 * cluster then starts faster.
 */
function claudeSettings({ claude = 0 }: ChaosOptions, folder: string): Record<string, string> {
  if (claude === 0) return { SKEIN_CLAUDE_CODE: "off" };
  return { SKEIN_CLAUDE_ROOTS: folder, SKEIN_SANDBOX: "off", SKEIN_CLAUDE_AHEAD: "0", SKEIN_CLAUDE_IDLE: "2" };
}

interface Pace {
  /** The clients' requests (`operations`) and the events that the readers have received (`streams`). */
  readonly operations: Operation[];
  readonly streams: Stream[];
  /** The sessions of Claude Code with their folders. */
  readonly claude: Map<string, string>;
  readonly folder: string;
  /** Aborts when the faults are over. Later, a session gets another prompt only if it has had too few prompts. */
  readonly calm: AbortSignal;
  /** Aborts when the campaign is over, and stops the readers of the sessions. */
  readonly over: AbortSignal;
}

/**
 * Follows every session, and sends it one prompt after the other while faults happen. Each session gets at least
 * `prompts` prompts.
 */
async function work(client: Client, options: ChaosOptions, pace: Pace): Promise<void> {
  const { sessions, prompts } = options;
  const { operations, streams, calm, over } = pace;
  await Promise.all(
    Array.from({ length: sessions }, async (_, n) => {
      // Sessions begin one after the other, so that the first prompts arrive at the rate of later prompts.
      await sleep(n * Math.max(20, (options.thinkMs ?? 0) / sessions));
      const isClaude = n < (options.claude ?? 0);
      const sessionId = isClaude ? await beginClaude(client, n, pace) : await client.create(operations, over);
      if (sessionId === undefined) return;
      const stream: Stream = { reader: `reader ${n}`, sessionId, after: 0, events: [], complete: false };
      streams.push(stream);
      const left = new AbortController();
      let ended = Promise.withResolvers<void>();
      const following = client.follow(stream, () => ended.resolve(), AbortSignal.any([over, left.signal]));
      for (let i = 0; (i < prompts || !calm.aborted) && !over.aborted; i++) {
        ended = Promise.withResolvers<void>();
        // A session of Claude Code got its first prompt when it was created.
        if (!isClaude || i > 0) await client.prompt(operations, { sessionId, label: `${n}-${i}`, isClaude }, over);
        await Promise.race([ended.promise, aborted(over)]);
        if (!calm.aborted) await Promise.race([sleep(options.thinkMs ?? 0), aborted(calm)]);
      }
      stream.complete = !over.aborted;
      left.abort();
      await following;
    }),
  );
}

async function beginClaude(client: Client, n: number, pace: Pace): Promise<string | undefined> {
  const cwd = join(pace.folder, `claude-${n}`);
  mkdirSync(cwd);
  const sessionId = await client.createClaude(pace.operations, { cwd, label: `${n}-0` }, pace.over);
  if (sessionId !== undefined) pace.claude.set(sessionId, cwd);
  return sessionId;
}

/** The effects of Claude Code. Each line in the file `effects` of the session's folder is one effect of one call. */
function claudeEffects(
  claude: ReadonlyMap<string, string>,
  sessionId: string,
  events: readonly Event[],
): readonly Effect[] {
  const file = join(claude.get(sessionId) ?? "", "effects");
  if (!claude.has(sessionId) || !existsSync(file)) return [];
  const calls = events.flatMap((event) => (event.event_type === "tool.started" ? [event.data] : []));
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [label = "", at] = line.split(" ");
      const call = calls.find(({ input }) => JSON.stringify(input).includes(`echo ${label} `));
      return {
        at: Number(at),
        sessionId,
        toolUseId: call?.tool_use_id ?? `unknown ${label}`,
        policy: "once",
        by: "claude",
      };
    });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

async function strike(
  cluster: Cluster,
  options: ChaosOptions,
  say: (line: string) => void,
): Promise<readonly StruckFault[]> {
  const random = createRandom(options.seed);
  const all = faultsOf(cluster, options).filter(
    ({ name }) => !options.only || options.only.some((part) => name.includes(part)),
  );
  if (all.length === 0)
    throw new Error(`--only ${options.only?.join(",")} selects no fault. See npm run cluster:test -- --help.`);
  const struck: StruckFault[] = [];
  let order = [...all];
  for (let n = 0; n < options.strikes; n++) {
    await sleep(random.between(...options.everyMs));
    if (order.length === 0) order = [...all];
    const [fault] = order.splice(random.int(order.length), 1);
    if (!fault) break;
    say(fault.name);
    const from = Date.now();
    await fault.strike();
    struck.push({ name: fault.name, from, to: Date.now(), stopsStore: fault.stopsStore === true });
  }
  return struck;
}

async function judge(
  cluster: Cluster,
  seen: Work & Pick<Parameters<typeof checkHistory>[0], "effects"> & { readonly faults: readonly StruckFault[] },
) {
  const store = await createPostgresStore({ url: cluster.places.postgres });
  try {
    const ids = [...new Set(seen.operations.flatMap(({ sessionId }) => sessionId ?? []))];
    const sessions: Parameters<typeof checkHistory>[0]["sessions"][number][] = [];
    for (const sessionId of ids) {
      const session = await store.get(sessionId);
      if (!session) continue;
      const [events, runs, messages] = await Promise.all([
        store.read(sessionId),
        store.runs(sessionId, { limit: 100 }),
        store.messages(sessionId, { limit: 1000 }),
      ]);
      sessions.push({ sessionId, events, session, runs: runs.items.toReversed(), messages: messages.items });
    }
    const violations = checkHistory({
      operations: seen.operations,
      sessions,
      acts: [],
      effects: [
        ...(seen.effects ?? []),
        ...sessions.flatMap(({ sessionId, events }) => claudeEffects(seen.claude, sessionId, events)),
      ],
      modelCalls: null,
      streams: seen.streams,
      errors: [],
      mustFinish: true,
    });
    const stallOf = (isClaude: boolean): readonly Stall[] => {
      const chosen = sessions.filter(({ sessionId }) => seen.claude.has(sessionId) === isClaude);
      return longestStalls(
        chosen.map(({ events }) => events),
        seen.faults,
      );
    };
    return {
      violations,
      worstStalls: stallOf(false),
      worstClaudeStalls: stallOf(true),
    };
  } finally {
    await store.close();
  }
}

function isEnd({ event_type }: Event): boolean {
  return event_type === "session.completed" || event_type === "session.failed";
}
