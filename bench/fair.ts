/** `npm run bench -- fair`: one tenant's turn alone, and while another tenant floods what they share. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { type Step, script } from "@skein/simulator";
import { startSimulator } from "./loop/simulator.ts";
import { createPlaces } from "./store/places.ts";
import { type Result, median, printed } from "./store/results.ts";

export const summary =
  "a turn of one tenant while another one floods the server: long runs, SQL, large bodies, streams, Claude Code";

const FLOODS = ["runs", "sql", "bodies", "streams", "claude"] as const;
const HELP = `npm run bench -- fair [options]

The server in a process of its own, in front of the simulator. A turn is a new session, a prompt, and its answer; the model takes 1 s.
Ends with 1 if a goal was missed.

  --flood NAME   ${FLOODS.join(", ")}; may be given more than once (default: all)
  --turns N      turns for each median (default: 9)
  --json         the results as JSON`;

/** How long the model takes. */
const MODEL_MS = 1000;
const GOAL = 1.5;
const CLAUDE_GOAL = 3;
const MEMORY_GOAL_MB = 600;

interface Server {
  readonly url: string;
  readonly flood: string;
  readonly calm: string;
  readonly peakMb: () => number;
  readonly close: () => Promise<void>;
}

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      flood: { type: "string", multiple: true, default: [...FLOODS] },
      turns: { type: "string", default: "9" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  const simulator = await startSimulator();
  const places = createPlaces();
  const results: Result[] = [];
  try {
    for (const name of FLOODS.filter((each) => values.flood.includes(each))) {
      const { folder } = await places.fresh("sqlite");
      mkdirSync(folder, { recursive: true });
      const server = await start(folder, simulator.url);
      try {
        results.push(...(await measured(server, name, Number(values.turns))));
      } finally {
        await server.close();
      }
    }
  } finally {
    await places.cleanup();
    await simulator.close();
  }
  console.log(values.json ? JSON.stringify(results) : printed(results));
  return results.every(({ passed }) => passed !== false);
}

async function measured(server: Server, name: (typeof FLOODS)[number], turns: number): Promise<readonly Result[]> {
  const turn = (): Promise<number> => timed(() => oneTurn(server, server.calm, [{ text: "Done.", delayMs: MODEL_MS }]));
  await turn();
  const alone = await medianOf(turns, turn);
  const stop = new AbortController();
  const flooding = FLOOD[name](server, stop.signal);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const beside = await medianOf(turns, turn);
  stop.abort();
  await flooding;
  const ratio = beside / alone;
  const most = name === "claude" ? CLAUDE_GOAL : GOAL;
  const memory = server.peakMb();
  return [
    {
      what: `turn beside ${name}`,
      store: "sqlite",
      value: beside,
      unit: "ms",
      floor: alone,
      ratio,
      goal: `at most ${most} x`,
      passed: ratio <= most,
    },
    {
      what: `memory with ${name}`,
      store: "sqlite",
      value: memory,
      unit: "MB",
      goal: `at most ${MEMORY_GOAL_MB}`,
      passed: memory <= MEMORY_GOAL_MB,
    },
  ];
}

/** What one tenant does until it is stopped. */
const FLOOD: Record<(typeof FLOODS)[number], (server: Server, signal: AbortSignal) => Promise<void>> = {
  /** 150 runs of a tool that takes 25 s. */
  async runs(server) {
    const steps = [{ tools: [{ name: "slow" }] }, { text: "Done." }];
    for (let each = 0; each < 150; each++) await prompt(server, server.flood, { steps, tools: ["slow"] });
  },
  sql: (server, signal) =>
    inParallel(8, signal, async () => {
      const sql = "select sum(a.range * b.range) from range(1000000) a, range(1000000) b";
      await call(server, server.flood, { path: "/v1/sql", body: { sql }, signal });
    }),
  bodies: (server, signal) =>
    inParallel(4, signal, async () => {
      const { id } = await created(server, server.flood, []);
      const image = { type: "text", text: "x".repeat(1000) };
      const content = { text: "y".repeat(4 * 1024 * 1024), blocks: [image] };
      const body = JSON.stringify({ role: "user", content, padding: "z".repeat(27 * 1024 * 1024) });
      await call(server, server.flood, { path: `/v1/sessions/${String(id)}/messages`, body, signal });
    }),
  async streams(server, signal) {
    const { id } = await created(server, server.flood, []);
    await inParallel(200, signal, async () => {
      const headers = { "x-api-key": server.flood, accept: "text/event-stream" };
      const answer = await fetch(`${server.url}/v1/sessions/${String(id)}/events`, { headers, signal });
      if (answer.status === 200) for await (const _ of answer.body ?? []) continue;
      else await new Promise((resolve) => setTimeout(resolve, 100));
    });
  },
  claude: (server, signal) =>
    inParallel(24, signal, async () => {
      const body = { prompt: `Go. ${script([{ text: "Done.", delayMs: MODEL_MS }], "Go.")}` };
      await call(server, server.flood, { path: "/api/v1/query/single", body, signal });
    }),
};

async function inParallel(width: number, signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
  const again = async (): Promise<void> => {
    while (!signal.aborted)
      await work().catch(async () => {
        await new Promise((resolve) => setTimeout(resolve, 50));
      });
  };
  await Promise.all(Array.from({ length: width }, again));
}

async function oneTurn(server: Server, key: string, steps: readonly Step[]): Promise<void> {
  const id = await prompt(server, key, { steps, tools: [] });
  for (;;) {
    const { status } = await call(server, key, { path: `/v1/sessions/${id}` });
    if (status === "completed") return;
    if (status === "failed") throw new Error("The turn failed.");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function prompt(
  server: Server,
  key: string,
  { steps, tools }: { readonly steps: readonly Step[]; readonly tools: readonly string[] },
): Promise<string> {
  const { id } = await created(server, key, tools);
  const content = { text: `Go. ${script(steps, "Go.")}` };
  await call(server, key, { path: `/v1/sessions/${String(id)}/messages`, body: { role: "user", content } });
  return String(id);
}

const agents = new Map<string, string>();

async function created(server: Server, key: string, tools: readonly string[]): Promise<Record<string, unknown>> {
  const name = `${server.url} ${key} ${tools.join()}`;
  const known =
    agents.get(name) ?? String((await call(server, key, { path: "/v1/agents", body: { name: "Bench", tools } }))["id"]);
  agents.set(name, known);
  return call(server, key, { path: `/v1/agents/${known}/sessions`, body: {} });
}

async function call(
  server: Server,
  key: string,
  { path, body, signal }: { readonly path: string; readonly body?: unknown; readonly signal?: AbortSignal },
): Promise<Record<string, unknown>> {
  const answer = await fetch(`${server.url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-api-key": key, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const text = await answer.text();
  return text.startsWith("{") ? (JSON.parse(text.split("\n")[0] ?? "{}") as Record<string, unknown>) : {};
}

async function medianOf(count: number, work: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let each = 0; each < count; each++) times.push(await work());
  return median(times);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function start(folder: string, modelUrl: string): Promise<Server> {
  const child: ChildProcess = spawn(
    process.execPath,
    [...process.execArgv, "bench/fair/child.ts", `sqlite:${join(folder, "skein.db")}`, folder, modelUrl],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const [line] = (await once(createInterface(child.stdout as NonNullable<ChildProcess["stdout"]>), "line")) as [string];
  const { url, flood, calm } = JSON.parse(line) as Pick<Server, "url" | "flood" | "calm">;
  const peakMb = (): number =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024;
  return {
    url,
    flood,
    calm,
    peakMb,
    async close() {
      child.stdin?.end();
      await once(child, "exit");
    },
  };
}
