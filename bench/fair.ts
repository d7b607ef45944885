/**
 * `npm run bench -- fair`: measures how long one tenant waits for the answer to a prompt, alone and while another
 * tenant floods the server.
 */
import { mkdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { FLOODS } from "./fair/floods.ts";
import { type Served, call, prompt, startServed } from "./fair/served.ts";
import { startSimulator } from "./loop/simulator.ts";
import { createPlaces } from "./store/places.ts";
import { type Result, figure, median, printed } from "./store/results.ts";
import { readOptions } from "../scripts/read-options.ts";

export const summary =
  "a turn of one tenant while another one floods the server: long runs, SQL, large bodies, streams, webhooks, Claude Code";

type FloodName = keyof typeof FLOODS;
const NAMES = Object.keys(FLOODS) as readonly FloodName[];
const HELP = `npm run bench -- fair [options]

The server runs in its own process and calls the simulator. A turn is a new session, a prompt, and its answer; the model takes 1 s.
The benchmark fails if the server accepted nothing of a flood. Takes about four minutes. Ends with 1 if a goal was missed.

  --flood NAME   ${NAMES.join(", ")}; may be given more than once (default: all)
  --turns N      turns for each median (default: 9)
  --json         the results as JSON`;

/** How long the simulated model takes for an answer. */
const MODEL_MS = 1000;
/** A turn that takes longer than this misses every goal. */
const LONGEST_TURN_MS = 20_000;
const GOAL = 1.5;
const CLAUDE_GOAL = 3;
const MEMORY_GOAL_MB = 600;

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- fair", {
    args: [...args],
    options: {
      flood: { type: "string", multiple: true, default: [...NAMES] },
      turns: { type: "string", default: "9" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  const unknown = values.flood.find((name) => !NAMES.includes(name as FloodName));
  if (unknown !== undefined) throw new Error(`There is no flood "${unknown}": expected one of ${NAMES.join(", ")}.`);
  const simulator = await startSimulator();
  const places = createPlaces();
  const results: Result[] = [];
  try {
    for (const name of NAMES.filter((each) => values.flood.includes(each))) {
      const { folder } = await places.fresh("sqlite");
      mkdirSync(folder, { recursive: true });
      const server = await startServed(folder, simulator.url);
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

async function measured(server: Served, name: FloodName, turns: number): Promise<readonly Result[]> {
  const progress = (text: string): void => console.error(`${name}: ${text}`);
  await oneTurn(server);
  progress(`${turns} turns alone`);
  const alone = await medianOf(turns, () => oneTurn(server));
  const stop = new AbortController();
  let taken = 0;
  const flooding = FLOODS[name](server, { signal: stop.signal, took: () => void taken++ });
  await delay(2000);
  await until(async () => taken > 0 || (await waitingIn(server)) !== "");
  progress(`${turns} turns during the flood (without it: ${figure(alone)} ms)`);
  const beside = await medianOf(turns, () => oneTurn(server));
  const memory = server.peakMb();
  const metrics = await waitingIn(server);
  await until(async () => taken > 0);
  stop.abort();
  await flooding;
  if (taken === 0)
    throw new Error(`The server accepted nothing of the flood "${name}", so its figures would mean nothing.`);
  const ratio = beside / alone;
  progress(`${figure(beside)} ms, ${ratio.toFixed(2)} x, ${figure(memory)} MB; the server accepted ${taken}`);
  const most = name === "claude" ? CLAUDE_GOAL : GOAL;
  return [
    {
      what: `turn during the flood ${name}`,
      store: "sqlite",
      value: beside,
      unit: "ms",
      floor: alone,
      ratio,
      goal: `at most ${most} x`,
      passed: ratio <= most,
      note: `${taken} taken on${metrics}`,
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

/** Waits until the condition is true, but at most 15 s. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 150 && !(await isSo()); tries++) await delay(100);
}

/** Returns the number of waiting requests in each queue, for the report. */
async function waitingIn(server: Served): Promise<string> {
  const answer = await fetch(`${server.url}/metrics`, { headers: { "x-api-key": server.calm } });
  const waiting = [...(await answer.text()).matchAll(/skein_places_waiting\{queue="(\w+)"\} ([1-9]\d*)/g)];
  return waiting.map(([, queue, count]) => `; ${count} wait for ${queue}`).join("");
}

async function oneTurn(server: Served): Promise<number> {
  const began = performance.now();
  const id = await prompt(server, server.calm, { steps: [{ text: "Done.", delayMs: MODEL_MS }] });
  for (;;) {
    const { body } = await call(server, server.calm, { path: `/v1/sessions/${id}` });
    const took = performance.now() - began;
    if (body["status"] === "completed" || took > LONGEST_TURN_MS) return took;
    if (body["status"] === "failed") throw new Error("The turn failed.");
    await delay(10);
  }
}

async function medianOf(count: number, work: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let each = 0; each < count; each++) times.push(await work());
  return median(times);
}
