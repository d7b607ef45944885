/** `npm run bench -- loop`: measures a turn of the loop on durable stores, compared with `fetch` calls alone. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openStore } from "../scripts/kill/open-store.ts";
import { counted } from "./loop/counted-store.ts";
import { startSimulator } from "./loop/simulator.ts";
import { PROMPT, bareTurn, benchAgent } from "./loop/turns.ts";
import { type Result, median, printed, quantile } from "./store/results.ts";
import { createPlaces } from "./store/places.ts";
import { onSlowDisk, whyNoStrace } from "./store/slow-disk.ts";
import { bareCommit } from "./loop/bare-commit.ts";
import { readOptions } from "../scripts/read-options.ts";

export const summary =
  "one turn with a tool call compared with bare fetch: overhead, sessions/s, round trips, long and idle sessions";

const HELP = `npm run bench -- loop [options]

One new session and one turn with one tool call (two model calls) against the simulator without delay, on a durable
store, compared with bare fetch with the same two calls in the same run. Ends with 1 if a goal was missed.

  --store NAME   sqlite, postgres or filesystem; may be given more than once (default: sqlite and postgres)
  --part NAME    turn, slow-disk, long or idle; may be given more than once (default: all)
  --quick        fewer turns
  --json         the results as JSON

Examples:
  npm run bench -- loop
  npm run bench -- loop --store sqlite --part turn --quick`;

type Durable = "sqlite" | "postgres" | "filesystem";

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- loop", {
    args: [...args],
    options: {
      store: { type: "string", multiple: true, default: ["sqlite", "postgres"] },
      part: { type: "string", multiple: true, default: ["turn", "slow-disk", "long", "idle"] },
      quick: { type: "boolean", default: false },
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
    for (const name of values.store as Durable[]) {
      const open = async () => openStore(name, await places.fresh(name));
      if (values.part.includes("turn"))
        results.push(...(await turns(name, open, { url: simulator.url, quick: values.quick, places })));
      if (values.part.includes("long") && name === "sqlite")
        results.push(...(await longSession(open, simulator.url, values.quick)));
      if (values.part.includes("idle") && name === "sqlite") results.push(await idleSessions(open, simulator.url));
    }
    if (values.part.includes("slow-disk")) results.push(...(await slow(values.store, values.quick)));
  } finally {
    await simulator.close();
    await places.cleanup();
  }
  console.log(values.json ? JSON.stringify(results) : printed(results));
  return results.every(({ passed }) => passed !== false);
}

type OpenStore = () => ReturnType<typeof openStore>;

async function turns(
  name: Durable,
  open: OpenStore,
  { url, quick, places }: { url: string; quick: boolean; places: ReturnType<typeof createPlaces> },
): Promise<Result[]> {
  const count = quick ? 40 : 200;
  const { store, counts } = counted(await open());
  const agent = benchAgent(url, store);
  const ours: number[] = [];
  const bare: number[] = [];
  const first: number[] = [];
  // The first turns are not measured, because they include the compilation of the code.
  for (let i = 0; i < 150; i++) await Promise.all([agent.run(PROMPT), bareTurn(url)]);
  counts.clear();
  for (let i = 0; i < count; i++) {
    bare.push(await timed(() => bareTurn(url)));
    const started = performance.now();
    let heard: number | undefined;
    ours.push(
      await timed(() =>
        agent.run(PROMPT, {
          onEvent: ({ event_type }) => event_type === "session.started" && (heard ??= performance.now()),
        }),
      ),
    );
    first.push((heard ?? performance.now()) - started);
  }
  const trips = [...counts].filter(([verb]) => verb !== "renew").reduce((sum, [, n]) => sum + n, 0) / count;
  const verbs = [...counts].map(([verb, n]) => `${verb} ${(n / count).toFixed(1)}`).join(", ");
  const commit = await bareCommit(name, await places.fresh(name));
  const overhead = median(ours) - median(bare);
  const limit = Math.min(15, 3 + 5 * commit);
  const parallel = await throughput(() => agent.run(PROMPT), quick ? 160 : 640, 32);
  const bareParallel = await throughput(() => bareTurn(url), quick ? 160 : 640, 32);
  await agent.close();
  await store.close();
  return [
    {
      what: "overhead of a turn, p50",
      store: name,
      value: overhead,
      unit: "ms",
      floor: median(bare),
      goal: `≤ 3 + 5 × ${commit.toFixed(2)} ms`,
      passed: overhead <= limit,
      note: `p95 ${(quantile(ours, 0.95) - quantile(bare, 0.95)).toFixed(1)} ms`,
    },
    {
      what: "prompt to first event, p50",
      store: name,
      value: median(first),
      unit: "ms",
      goal: "≤ 5 ms",
      passed: median(first) <= 5,
    },
    {
      what: "store round trips per turn",
      store: name,
      value: trips,
      unit: "",
      goal: "≤ 6",
      passed: trips <= 6.05,
      note: verbs,
    },
    {
      what: "sessions/s at 32",
      store: name,
      value: parallel,
      unit: "/s",
      floor: bareParallel,
      ratio: bareParallel / parallel,
      goal: "≥ 100 /s",
      passed: parallel >= 100,
    },
  ];
}

async function longSession(open: OpenStore, url: string, quick: boolean): Promise<Result[]> {
  const last = quick ? 100 : 500;
  const store = await open();
  const agent = benchAgent(url, store);
  // These turns are not measured. They compile the code, which would slow down the early measured turns.
  for (let turn = 0; turn < 150; turn++) await Promise.all([agent.run(PROMPT), bareTurn(url)]);
  const early: number[] = [];
  const late: number[] = [];
  let sessionId = "";
  // Measures several sessions, because garbage collection or other load may affect a single session.
  for (let session = 0; session < (quick ? 1 : 3); session++) {
    const overhead: number[] = [];
    ({ sessionId } = await agent.run(PROMPT));
    let history = await bareTurn(url);
    for (let turn = 2; turn <= last; turn++) {
      const measured = {
        ours: () => timed(() => agent.run(PROMPT, { sessionId })),
        bare: () => timed(async () => (history = await bareTurn(url, history))),
      };
      // Both sides alternate in running first, because the garbage of the first side slows down the second side.
      const order = turn % 2 === 0 ? (["ours", "bare"] as const) : (["bare", "ours"] as const);
      const times = { ours: 0, bare: 0 };
      for (const which of order) times[which] = await measured[which]();
      overhead.push(times.ours - times.bare);
    }
    early.push(...overhead.slice(5, 25));
    late.push(...overhead.slice(-20));
  }
  const events = await store.read(sessionId);
  const size = (from: number, to: number) => JSON.stringify(events.slice(from, to)).length;
  const growth = size(-200, events.length) / size(200, 400);
  await agent.close();
  await store.close();
  return [
    {
      what: `overhead at turn ${last} compared with turn 10`,
      store: "sqlite",
      value: median(late) / median(early),
      unit: "×",
      goal: "≤ 1.5 ×",
      passed: median(late) <= 1.5 * median(early),
      note: `${median(early).toFixed(1)} ms, then ${median(late).toFixed(1)} ms`,
    },
    {
      what: "growth of the bytes per event",
      store: "sqlite",
      value: growth,
      unit: "×",
      goal: "linear (≤ 1.1 ×)",
      passed: growth <= 1.1,
    },
  ];
}

async function idleSessions(open: OpenStore, url: string): Promise<Result> {
  const store = await open();
  const agent = benchAgent(url, store);
  await agent.run(PROMPT);
  const before = heap();
  await throughput(() => agent.run(PROMPT), 1000, 32);
  const each = (heap() - before) / 1000 / 1024;
  await agent.close();
  await store.close();
  return {
    what: "memory of an idle session",
    store: "sqlite",
    value: each,
    unit: "kB",
    goal: "≤ 10 kB",
    passed: each <= 10,
  };
}

async function slow(stores: readonly string[], quick: boolean): Promise<Result[]> {
  const why = whyNoStrace();
  if (why !== undefined) {
    console.error(why);
    return [];
  }
  const args = [
    "loop",
    "--json",
    "--part",
    "turn",
    ...(quick ? ["--quick"] : []),
    ...stores.flatMap((name) => ["--store", name]),
  ];
  const results = await onSlowDisk(args, "bench/bench.ts");
  // On a slow disk only the throughput has a goal.
  return results.map(({ goal, passed, ...result }) => ({
    ...result,
    what: `${result.what}, 2 ms fsync`,
    ...(result.what.startsWith("sessions") && { goal: goal ?? "", passed: passed ?? true }),
  }));
}

function heap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Returns the operations per second, with `atOnce` operations at the same time. */
async function throughput(work: () => Promise<unknown>, total: number, atOnce: number): Promise<number> {
  let left = total;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await work();
    }),
  );
  return total / ((performance.now() - started) / 1000);
}
