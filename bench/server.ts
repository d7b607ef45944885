/** `npm run bench -- server`: the cost of the platform API compared with the library, and the load that its streams can take. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../scripts/kill/open-store.ts";
import { startSimulator } from "./loop/simulator.ts";
import { PROMPT, benchAgent } from "./loop/turns.ts";
import { processorShares, processorTime } from "./server/processor-time.ts";
import { type Served, rate, served, stream } from "./server/served.ts";
import { fanOut, leaks, randomCuts, stuckReaders } from "./server/streams.ts";
import { hostileBodies } from "./server/bodies.ts";
import { createPlaces } from "./store/places.ts";
import { type Result, median, printed } from "./store/results.ts";

export const summary =
  "turns over HTTP and SSE beside the library; 1,000 readers, stuck readers, cuts, leaks, reads, hostile bodies";

const PARTS = ["turn", "fan-out", "stuck", "cuts", "leaks", "reads", "bodies", "start"] as const;
const HELP = `npm run bench -- server [options]

The server in a process of its own, in front of the simulator without delay. Ends with 1 if a goal was missed.

  --store NAME   for turns: sqlite or postgres; may be given more than once (default: both)
  --part NAME    ${PARTS.join(", ")}; may be given more than once (default: all)
  --quick        less of everything
  --json         the results as JSON

Examples:
  npm run bench -- server
  npm run bench -- server --part fan-out --part stuck`;

type Durable = "sqlite" | "postgres";

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: "string", multiple: true, default: ["sqlite", "postgres"] },
      part: { type: "string", multiple: true, default: [...PARTS] },
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  const { quick } = values;
  const simulator = await startSimulator();
  const places = createPlaces();
  const results: Result[] = [];
  const wants = (part: (typeof PARTS)[number]): boolean => values.part.includes(part);
  const withServer = async (store: Durable, work: (server: Served) => Promise<readonly Result[]>): Promise<void> => {
    const place = await places.fresh(store);
    mkdirSync(place.folder, { recursive: true });
    const url = store === "postgres" ? (place.url ?? "") : `sqlite:${join(place.folder, "skein.db")}`;
    const server = await served(url, place.folder, simulator.url);
    try {
      results.push(...(await work(server)));
    } finally {
      await server.close();
    }
  };
  try {
    for (const store of values.store as Durable[])
      if (wants("turn")) {
        const library = await libraryTurns(store, await places.fresh(store), simulator.url);
        await withServer(store, (server) => turns(server, { store, inLibrary: library.turn, quick }));
        await library.close();
      }
    if (wants("turn")) results.push(...overSqlite(results));
    if (wants("fan-out")) await withServer("sqlite", (server) => fanOut(server, quick));
    if (wants("stuck")) await withServer("sqlite", stuckReaders);
    if (wants("cuts")) await withServer("sqlite", (server) => randomCuts(server, quick));
    if (wants("leaks")) await withServer("sqlite", (server) => leaks(server, quick));
    if (wants("reads")) await withServer("sqlite", (server) => reads(server, quick));
    if (wants("bodies")) await withServer("sqlite", hostileBodies);
    if (wants("start")) results.push(await coldStart((await places.fresh("sqlite")).folder));
  } finally {
    await simulator.close();
    await places.cleanup();
  }
  console.log(values.json ? JSON.stringify(results) : printed(results));
  return results.every(({ passed }) => passed !== false);
}

/** The same turn through the library in this process: the lower bound for HTTP. */
async function libraryTurns(store: Durable, place: Parameters<typeof openStore>[1], url: string) {
  const opened = await openStore(store, place);
  const agent = benchAgent(url, opened);
  return {
    async turn(): Promise<number> {
      const began = performance.now();
      await agent.run(PROMPT);
      return performance.now() - began;
    },
    async close(): Promise<void> {
      await agent.close();
      await opened.close();
    },
  };
}

async function turns(
  server: Served,
  { store, inLibrary, quick }: { store: Durable; inLibrary: () => Promise<number>; quick: boolean },
): Promise<Result[]> {
  const agent = await server.call("POST", "/v1/agents", { name: "Bench", tools: ["add"] });
  const first: number[] = [];
  const turn = async (): Promise<number> => {
    const began = performance.now();
    const session = await server.call("POST", "/v1/sessions", { agent_id: agent["id"] });
    const path = `/v1/sessions/${String(session["id"])}`;
    let posted = 0;
    let heard: number | undefined;
    const { promise: completed, resolve, reject } = Promise.withResolvers<void>();
    const { response } = await stream(server, `${path}/events?after=1`, (text) => {
      if (text.includes("event: session.started")) heard ??= performance.now() - posted;
      if (text.includes("event: session.completed")) resolve();
    });
    response.once("close", () => reject(new Error("The stream ended too early.")));
    posted = performance.now();
    await server.call("POST", `${path}/messages`, { role: "user", content: { text: PROMPT } });
    await completed;
    response.destroy();
    first.push(heard ?? Number.POSITIVE_INFINITY);
    return performance.now() - began;
  };
  for (let at = 0; at < 20; at++) await Promise.all([turn(), inLibrary()]);
  first.length = 0;
  const times: number[] = [];
  const floor: number[] = [];
  // Measured alternately, so that other load affects both.
  for (let at = 0; at < (quick ? 40 : 200); at++) {
    times.push(await turn());
    floor.push(await inLibrary());
  }
  const firstEvent = median(first);
  const count = quick ? 160 : 640;
  const before = processorTime();
  const perSecond = await throughput(turn, count, 32);
  const shares = processorShares(before, processorTime(), count);
  const libraryPerSecond = await throughput(inLibrary, count, 32);
  const library = median(floor);
  const over = median(times) - library;
  return [
    {
      what: TURN,
      store,
      value: median(times),
      unit: "ms",
    },
    {
      what: "a turn over HTTP and SSE, p50 above the library",
      store,
      value: over,
      unit: "ms",
      floor: library,
      goal: "≤ 20 ms",
      passed: over <= 20,
    },
    {
      what: "POST to first event, p50",
      store,
      value: firstEvent,
      unit: "ms",
      goal: "≤ 10 ms",
      passed: firstEvent <= 10,
    },
    {
      what: "sessions/s at 32",
      store,
      value: perSecond,
      unit: "/s",
      floor: libraryPerSecond,
      ratio: libraryPerSecond / perSecond,
      goal: `≥ ${PER_SECOND[store]} /s`,
      passed: perSecond >= PER_SECOND[store],
      note: shares,
    },
  ];
}

const TURN = "a turn over HTTP and SSE, p50";
/** The goals in sessions per second, with 32 at once. */
const PER_SECOND: Readonly<Record<Durable, number>> = { sqlite: 80, postgres: 170 };

/** A turn on PostgreSQL compared with one on sqlite, if both were measured. */
function overSqlite(results: readonly Result[]): readonly Result[] {
  const turnOn = (store: Durable) => results.find((one) => one.what === TURN && one.store === store)?.value;
  const [sqlite, postgres] = [turnOn("sqlite"), turnOn("postgres")];
  if (sqlite === undefined || postgres === undefined) return [];
  const value = postgres / sqlite;
  return [
    { what: `${TURN}, over sqlite's`, store: "postgres", value, unit: "×", goal: "≤ 1.3 ×", passed: value <= 1.3 },
  ];
}

/** Operations per second, with this many at once. */
async function throughput(work: () => Promise<unknown>, total: number, atOnce: number): Promise<number> {
  let left = total;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await work();
    }),
  );
  return (total / (performance.now() - began)) * 1000;
}

async function reads(server: Served, quick: boolean): Promise<Result[]> {
  const agent = await server.call("POST", "/v1/agents", { name: "Bench" });
  let path = "";
  for (let at = 0; at < 60; at++)
    path = `/v1/sessions/${String((await server.call("POST", "/v1/sessions", { agent_id: agent["id"], title: `Session ${at}` }))["id"])}`;
  const load = { ms: quick ? 1500 : 4000, at: 16 };
  const results: Result[] = [];
  for (const [what, route] of [
    ["GET of a session", path],
    ["a page of 50 sessions", "/v1/sessions?limit=50"],
  ] as const) {
    const body = await server.call("GET", route);
    await fetch(server.bareUrl, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    // Each runs twice, alternating, and the faster run counts, because other load only makes them slower.
    const { url, key, cpu } = server;
    const pairs = [];
    for (let at = 0; at < 2; at++)
      pairs.push({
        ours: await rate({ url: `${url}${route}`, key, cpu }, load),
        bare: await rate({ url: server.bareUrl, cpu }, load),
      });
    const ours = Math.max(...pairs.map((pair) => pair.ours.perSecond));
    const floor = Math.max(...pairs.map((pair) => pair.bare.perSecond));
    const ratio = ours / floor;
    const [{ ours: one, bare }] = pairs.toSorted((a, b) => a.ours.cpuMs - b.ours.cpuMs) as [(typeof pairs)[number]];
    results.push({
      what,
      store: "sqlite",
      value: ours,
      unit: "/s",
      floor,
      ratio,
      goal: "≥ half of bare",
      passed: ratio >= 0.5,
      note: `processor per request ${one.cpuMs.toFixed(2)} ms, bare ${bare.cpuMs.toFixed(2)} ms`,
    });
  }
  return results;
}

async function coldStart(folder: string): Promise<Result> {
  const times: number[] = [];
  for (let at = 0; at < 5; at++) {
    const data = join(folder, String(at));
    mkdirSync(data, { recursive: true });
    const began = performance.now();
    const child = spawn(process.execPath, ["packages/cli/bin/skein.js", "serve", "--port", "0", "--data", data], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, SKEIN_API_KEY: "" },
    });
    await once(child.stdout, "data");
    times.push(performance.now() - began);
    child.kill("SIGTERM");
    await once(child, "exit");
  }
  const value = median(times) / 1000;
  return { what: "cold start to listening, p50", store: "sqlite", value, unit: "s", goal: "≤ 1 s", passed: value <= 1 };
}
