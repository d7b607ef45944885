import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Place, openStore } from "../../scripts/kill/open-store.ts";
import { PROMPT, benchAgent } from "../loop/turns.ts";
import type { Places } from "../store/places.ts";
import { type Result, median } from "../store/results.ts";
import { processorShares, processorTime } from "./processor-time.ts";
import { type Served, served, stream } from "./served.ts";

export type Durable = "sqlite" | "postgres";

interface TurnsOptions {
  readonly places: Places;
  readonly modelUrl: string;
  readonly quick: boolean;
}

/**
 * One store with the two things to compare: a turn over HTTP, and the same turn through the library in this process.
 */
interface Side {
  readonly store: Durable;
  readonly overHttp: () => Promise<unknown>;
  readonly inLibrary: () => Promise<unknown>;
  /** The milliseconds of each turn, and those from POST to the first event. */
  readonly times: Readonly<Record<"http" | "library" | "first", number[]>>;
  close(): Promise<void>;
}

const TURN = "a turn over HTTP and SSE, p50";
/** The goals in sessions per second, with 32 at the same time. */
const PER_SECOND: Readonly<Record<Durable, number>> = { sqlite: 80, postgres: 170 };

/**
 * Measures turns on each store, over HTTP and through the library. First one turn at a time, alternating between the
 * stores, so that other load affects all of them. Then 32 turns at once, one store after the other.
 */
export async function turns(stores: readonly Durable[], options: TurnsOptions): Promise<readonly Result[]> {
  const sides: Side[] = [];
  try {
    for (const store of stores) sides.push(await openSide(store, options));
    for (let at = 0; at < 20; at++)
      for (const { overHttp, inLibrary } of sides) await Promise.all([overHttp(), inLibrary()]);
    for (const { times } of sides) for (const list of Object.values(times)) list.length = 0;
    for (let at = 0; at < (options.quick ? 40 : 200); at++)
      for (const { overHttp, inLibrary, times } of sides) {
        times.http.push(await timeOf(overHttp));
        times.library.push(await timeOf(inLibrary));
      }
    const results: Result[] = [];
    for (const side of sides) results.push(...alone(side), await together(side, options.quick ? 160 : 640));
    return [...results, ...overSqlite(sides)];
  } finally {
    for (const { close } of sides) await close();
  }
}

/** A server in a process of its own, on an empty store. */
export function serverOn(store: Durable, { folder, url }: Place, modelUrl: string): Promise<Served> {
  mkdirSync(folder, { recursive: true });
  return served(store === "postgres" ? (url ?? "") : `sqlite:${join(folder, "skein.db")}`, folder, modelUrl);
}

async function openSide(store: Durable, { places, modelUrl }: TurnsOptions): Promise<Side> {
  const opened = await openStore(store, await places.fresh(store));
  const library = benchAgent(modelUrl, opened);
  const server = await serverOn(store, await places.fresh(store), modelUrl);
  const agent = await server.call("POST", "/v1/agents", { name: "Bench", tools: ["add"] });
  const times: Side["times"] = { http: [], library: [], first: [] };
  return {
    store,
    overHttp: async () => times.first.push(await turn(server, String(agent["id"]))),
    inLibrary: () => library.run(PROMPT),
    times,
    async close() {
      await library.close();
      await opened.close();
      await server.close();
    },
  };
}

/**
 * Creates a session, opens its stream, posts a message and reads until the end. Returns the milliseconds from POST to
 * the first event.
 */
async function turn(server: Served, agentId: string): Promise<number> {
  const session = await server.call("POST", "/v1/sessions", { agent_id: agentId });
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
  return heard ?? Number.POSITIVE_INFINITY;
}

function alone({ store, times }: Side): readonly Result[] {
  const [http, library, first] = [median(times.http), median(times.library), median(times.first)];
  const over = http - library;
  return [
    { what: TURN, store, value: http, unit: "ms" },
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
      value: first,
      unit: "ms",
      goal: "≤ 10 ms",
      passed: first <= 10,
    },
  ];
}

async function together({ store, overHttp, inLibrary }: Side, count: number): Promise<Result> {
  const before = processorTime();
  const perSecond = await throughput(overHttp, count);
  const note = processorShares(before, processorTime(), count);
  const libraryPerSecond = await throughput(inLibrary, count);
  return {
    what: "sessions/s at 32",
    store,
    value: perSecond,
    unit: "/s",
    floor: libraryPerSecond,
    ratio: libraryPerSecond / perSecond,
    goal: `≥ ${PER_SECOND[store]} /s`,
    passed: perSecond >= PER_SECOND[store],
    note,
  };
}

/** Compares the turns on PostgreSQL with those on sqlite, if both were measured. */
function overSqlite(sides: readonly Side[]): readonly Result[] {
  const timesOn = (store: Durable) => sides.find((side) => side.store === store)?.times.http;
  const [sqlite, postgres] = [timesOn("sqlite"), timesOn("postgres")];
  if (!sqlite || !postgres) return [];
  const value = median(postgres) / median(sqlite);
  return [
    { what: `${TURN}, over sqlite's`, store: "postgres", value, unit: "×", goal: "≤ 1.3 ×", passed: value <= 1.3 },
  ];
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Operations per second, with 32 at the same time. */
async function throughput(work: () => Promise<unknown>, total: number): Promise<number> {
  let left = total;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (left-- > 0) await work();
    }),
  );
  return (total / (performance.now() - began)) * 1000;
}
