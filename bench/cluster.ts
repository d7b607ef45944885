/** Compares clusters: the local engine with Restate, and one worker with two workers. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type Client, createClient } from "@skein/client";
import { script } from "@skein/simulator";
import { type Cluster, startCluster } from "../scripts/cluster/start-cluster.ts";
import { type Stream, stream } from "./server/served.ts";
import { reader } from "./server/streams.ts";
import { quantile } from "./store/results.ts";
import { table } from "./table.ts";

export const summary =
  "a turn over the local engine and over Restate; sessions/s with one and two workers; 1,000 readers over two api processes; memory of each role";

const TURNS = 60;
const AT_ONCE = 64;
const SESSIONS = 256;
const OPEN = { SKEIN_LIMITS: "requestsPerSecond=100000,requestBurst=100000,streams=5000,sessionsPerMinute=1000000" };

const READERS = 1000;
const EVENTS = 50;
const READERS_GOAL_MS = 150;

/** How much longer a turn may take with Restate than with the local engine. */
const GOAL_MS = 10;

export async function run(): Promise<boolean> {
  const rows: string[][] = [];
  const turns: number[] = [];
  let readers: Readers | undefined;
  for (const engine of ["local", "restate"] as const) {
    const cluster = await startCluster({
      restate: 1,
      env: { ...OPEN, SKEIN_ENGINE: engine, SKEIN_CLAUDE_CODE: "off" },
    });
    try {
      const bench = await openBench(cluster);
      await bench.turns(10, 1);
      const before = processorMs(cluster);
      const alone = await bench.turns(TURNS, 1);
      const perTurn = (processorMs(cluster) - before) / TURNS;
      const two = await bench.turns(SESSIONS, AT_ONCE);
      const memory = memoryOf(cluster);
      if (engine === "restate") readers = await follow(cluster, bench);
      const [, second] = cluster.processes.filter(({ role }) => role === "worker");
      await second?.kill();
      const one = await bench.turns(SESSIONS, AT_ONCE);
      turns.push(median(alone.times));
      rows.push([
        engine,
        `${median(alone.times).toFixed(1)} ms`,
        `${perTurn.toFixed(1)} ms`,
        `${one.perSecond.toFixed(0)} /s`,
        `${two.perSecond.toFixed(0)} /s`,
        `${(two.perSecond / one.perSecond).toFixed(2)} ×`,
        memory,
      ]);
    } finally {
      await cluster.stop();
    }
  }
  const [local = 0, restate = 0] = turns;
  const headers = [
    "engine",
    "turn at 1, p50",
    "processor",
    `${AT_ONCE} at once, 1 worker`,
    "2 workers",
    "ratio",
    "memory",
  ];
  console.log(table(headers, rows));
  console.log(`Restate takes ${(restate - local).toFixed(1)} ms longer for a turn; the goal is at most ${GOAL_MS} ms.`);
  console.log(
    "All processes share the cores of this machine: if one worker already uses all of them, two workers are not twice as fast.",
  );
  const { p50 = Infinity, p99 = Infinity, missed = Infinity } = readers ?? {};
  console.log(
    `${READERS} readers over two api processes: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms (goal ${READERS_GOAL_MS} ms), ${missed} events missed.`,
  );
  return restate - local <= GOAL_MS && p99 <= READERS_GOAL_MS && missed === 0;
}

interface Readers {
  readonly p50: number;
  readonly p99: number;
  readonly missed: number;
}

/**
 * Measures how soon readers of a session get its events. The readers are split between two api processes. The cluster's
 * balancer gets 10 changes of the session per second, and sends each to one of the processes.
 */
async function follow({ processes, apiKey }: Cluster, { client, agentId }: Bench): Promise<Readers> {
  const apis = processes.filter(({ role }) => role === "api");
  const { id } = await client.createSession({ body: { agent_id: agentId } });
  const latencies: number[] = [];
  const clock = (): number => performance.timeOrigin + performance.now();
  const readers = Array.from({ length: READERS }, () => reader((sentAt) => latencies.push(clock() - sentAt)));
  const streams: Stream[] = [];
  for (const [n, { read }] of readers.entries()) {
    const url = apis[n % apis.length]?.url ?? "";
    streams.push(await stream({ url, key: apiKey }, `/v1/sessions/${id}/events`, read));
  }
  for (let n = 0; n < EVENTS; n++) {
    const began = performance.now();
    await client.patchSession({ params: { session_id: id }, body: { title: String(clock()) } });
    await delay(Math.max(0, 100 - (performance.now() - began)));
  }
  await delay(1500);
  for (const one of streams) one.close();
  const missed = readers.reduce((sum, { seen }) => sum + seen.gaps + Math.abs(EVENTS + 1 - seen.count), 0);
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), missed };
}

type Bench = Awaited<ReturnType<typeof openBench>>;

async function openBench(cluster: Cluster) {
  const client = createClient({ url: cluster.url, apiKey: cluster.apiKey });
  const agent = await client.createAgent({ body: { name: "Bench" } });
  return {
    client,
    agentId: agent.id,
    /** Creates `count` sessions, sends each a prompt, and reads each answer to its end. */
    async turns(
      count: number,
      atOnce: number,
    ): Promise<{ readonly times: readonly number[]; readonly perSecond: number }> {
      const times: number[] = [];
      let left = count;
      const began = performance.now();
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          while (left-- > 0) times.push(await turn(client, agent.id));
        }),
      );
      return { times, perSecond: count / ((performance.now() - began) / 1000) };
    },
  };
}

async function turn(client: Client, agentId: string): Promise<number> {
  const began = performance.now();
  const session = await client.createSession({ body: { agent_id: agentId } });
  const content = { text: `Please. ${script([{ text: "Here." }], "bench")}` };
  await client.postMessage({ params: { session_id: session.id }, body: { role: "user", content } });
  const done = new AbortController();
  for await (const item of client.follow(session.id, { signal: done.signal })) {
    if (item.type !== "event" || !/^session\.(completed|failed)$/.test(item.event.event_type)) continue;
    if (item.event.event_type === "session.failed") throw new Error("A run of the benchmark failed.");
    break;
  }
  done.abort();
  return performance.now() - began;
}

/**
 * Returns the processor time of all processes of the cluster. On a busy machine it is more meaningful than elapsed
 * time.
 */
function processorMs({ processes, restate }: Cluster): number {
  return [...processes, ...restate.nodes].reduce((sum, { pid }) => sum + processorOf(pid()), 0);
}

/** Returns the milliseconds of processor time in user and kernel mode. A tick has 10 ms. */
function processorOf(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}

function memoryOf({ processes, restate }: Cluster): string {
  const of = (pid: number | undefined): string => `${Math.round(residentKb(pid) / 1024)} MB`;
  const [api, worker] = (["api", "worker"] as const).map((wanted) =>
    processes.find(({ role }) => role === wanted)?.pid(),
  );
  return `api ${of(api)}, worker ${of(worker)}, Restate ${of(restate.nodes[0]?.pid())}`;
}

function residentKb(pid: number | undefined): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
