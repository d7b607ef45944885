/**
 * `npm run bench -- server`: the cost of the platform API compared with the library, and the load that its streams can
 * take.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startSimulator } from "./loop/simulator.ts";
import { type Served, rate } from "./server/served.ts";
import { fanOut, leaks, randomCuts, stuckReaders } from "./server/streams.ts";
import { type Durable, serverOn, turns } from "./server/turns.ts";
import { hostileBodies } from "./server/bodies.ts";
import { createPlaces } from "./store/places.ts";
import { type Result, median, printed } from "./store/results.ts";
import { readOptions } from "../scripts/read-options.ts";

export const summary =
  "turns over HTTP and SSE compared with the library; 1,000 readers, stuck readers, cuts, leaks, reads, hostile bodies";

const PARTS = ["turn", "fan-out", "stuck", "cuts", "leaks", "reads", "bodies", "start"] as const;
const HELP = `npm run bench -- server [options]

The server runs in its own process and calls the simulator without delay. Ends with 1 if a goal was missed.

  --store NAME   for turns: sqlite or postgres; may be given more than once (default: both)
  --part NAME    ${PARTS.join(", ")}; may be given more than once (default: all)
  --quick        fewer requests and sessions
  --json         the results as JSON

Examples:
  npm run bench -- server
  npm run bench -- server --part fan-out --part stuck`;

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- server", {
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
  const withServer = async (work: (server: Served) => Promise<readonly Result[]>): Promise<void> => {
    const server = await serverOn("sqlite", await places.fresh("sqlite"), simulator.url);
    try {
      results.push(...(await work(server)));
    } finally {
      await server.close();
    }
  };
  try {
    if (wants("turn"))
      results.push(...(await turns(values.store as Durable[], { places, modelUrl: simulator.url, quick })));
    if (wants("fan-out")) await withServer((server) => fanOut(server, quick));
    if (wants("stuck")) await withServer(stuckReaders);
    if (wants("cuts")) await withServer((server) => randomCuts(server, quick));
    if (wants("leaks")) await withServer((server) => leaks(server, quick));
    if (wants("reads")) await withServer((server) => reads(server, quick));
    if (wants("bodies")) await withServer(hostileBodies);
    if (wants("start")) results.push(await coldStart((await places.fresh("sqlite")).folder));
  } finally {
    await simulator.close();
    await places.cleanup();
  }
  console.log(values.json ? JSON.stringify(results) : printed(results));
  return results.every(({ passed }) => passed !== false);
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
    // Each side runs twice, alternating with the other. Its faster run counts, because other load only makes a run
    // slower.
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
