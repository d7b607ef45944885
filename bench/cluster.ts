/** The same sessions on a cluster of processes: by the local engine and by Restate, with one worker and with two. */
import { readFileSync } from "node:fs";
import { type Client, createClient } from "@skein/client";
import { script } from "@skein/simulator";
import { type Cluster, startCluster } from "../scripts/cluster/start-cluster.ts";
import { table } from "./table.ts";

export const summary =
  "a turn over the local engine and over Restate; sessions/s with one and two workers; memory of each role";

const TURNS = 60;
const AT_ONCE = 64;
const SESSIONS = 256;
const OPEN = { SKEIN_LIMITS: "requestsPerSecond=100000,requestBurst=100000,streams=5000,sessionsPerMinute=1000000" };

/** What a turn over Restate may take longer than over the local engine. */
const GOAL_MS = 10;

export async function run(): Promise<boolean> {
  const rows: string[][] = [];
  const turns: number[] = [];
  for (const engine of ["local", "restate"] as const) {
    const cluster = await startCluster({
      restate: 1,
      env: { ...OPEN, SKEIN_ENGINE: engine, SKEIN_CLAUDE_CODE: "off" },
    });
    try {
      const bench = await openBench(cluster);
      await bench.turns(10, 1);
      const alone = await bench.turns(TURNS, 1);
      const two = await bench.turns(SESSIONS, AT_ONCE);
      const memory = memoryOf(cluster);
      const [, second] = cluster.processes.filter(({ role }) => role === "worker");
      await second?.kill();
      const one = await bench.turns(SESSIONS, AT_ONCE);
      turns.push(median(alone.times));
      rows.push([
        engine,
        `${median(alone.times).toFixed(1)} ms`,
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
  const headers = ["engine", "turn at 1, p50", `${AT_ONCE} at once, 1 worker`, "2 workers", "ratio", "memory"];
  console.log(table(headers, rows));
  console.log(`Restate takes ${(restate - local).toFixed(1)} ms longer for a turn; the goal is at most ${GOAL_MS} ms.`);
  console.log(
    "All processes share the cores of this machine: two workers are not twice as fast as one where one fills them.",
  );
  return restate - local <= GOAL_MS;
}

async function openBench(cluster: Cluster) {
  const client = createClient({ url: cluster.url, apiKey: cluster.apiKey });
  const agent = await client.createAgent({ body: { name: "Bench" } });
  return {
    /** So many sessions, each created, prompted and read to the end of its answer. */
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
