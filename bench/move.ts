/**
 * `npm run bench -- move`: how fast a whole store is moved into another one, compared with one bare commit of 500 bytes
 * for each event.
 */
import { join } from "node:path";
import { createAgent } from "skein";
import { script } from "@skein/simulator";
import { move } from "../packages/skein/src/move.ts";
import { bareCommit } from "./loop/bare-commit.ts";
import { startSimulator } from "./loop/simulator.ts";
import { createPlaces } from "./store/places.ts";
import { type Result, printed } from "./store/results.ts";
import { readOptions } from "../scripts/read-options.ts";

export const summary =
  "a whole store moved into another one, compared with bare commits; a second move without new events";

const HELP = `npm run bench -- move [options]

Sessions of two runs each, made on sqlite, are moved to an empty store. They are then moved again, when nothing is
new; then four times as many are moved. The speed is compared with one bare commit for each event. Ends with 1 if the
time does not grow linearly.

  --store NAME     where to: sqlite, postgres or filesystem; may be given more than once (default: all)
  --sessions N     how many at first (default: 250)
  --json           the results as JSON

Examples:
  npm run bench -- move
  npm run bench -- move --store postgres --sessions 1000`;

const STORES = ["sqlite", "postgres", "filesystem"] as const;
type Target = (typeof STORES)[number];
type Places = ReturnType<typeof createPlaces>;

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- move", {
    args: [...args],
    options: {
      store: { type: "string", multiple: true, default: [...STORES] },
      sessions: { type: "string", default: "250" },
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
  try {
    const count = Number(values.sessions);
    const few = await sessions(count, simulator.url, places);
    const many = await sessions(4 * count, simulator.url, places);
    const results: Result[] = [];
    for (const store of values.store as Target[]) results.push(...(await moved(store, { few, many, places })));
    console.log(values.json ? JSON.stringify(results) : printed(results));
    return results.every(({ passed }) => passed !== false);
  } finally {
    await simulator.close();
    await places.cleanup();
  }
}

/** Makes a store with this many sessions. Returns the URL of the store. */
async function sessions(count: number, baseUrl: string, places: Places): Promise<string> {
  const store = `sqlite:${join((await places.fresh("sqlite")).folder, "skein.db")}`;
  const agent = createAgent({ name: "Bench", apiKey: "bench", baseUrl, store });
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const { sessionId } = await agent.run(script([{ text: "It is said at some length. ".repeat(20) }]));
      await agent.run(script([{ text: "And again." }]), { sessionId });
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  await agent.close();
  return store;
}

async function moved(
  store: Target,
  { few, many, places }: { readonly few: string; readonly many: string; readonly places: Places },
): Promise<Result[]> {
  const to = await address(store, places);
  const first = await timed(few, to);
  const again = await timed(few, to);
  const larger = await timed(many, await address(store, places));
  const commit = await bareCommit(store, await places.fresh(store));
  const floor = 1000 / commit;
  const growth = larger.ms / larger.events / (first.ms / first.events);
  return [
    {
      what: "events moved",
      store,
      value: (larger.events / larger.ms) * 1000,
      unit: "/s",
      floor,
      ratio: floor / ((larger.events / larger.ms) * 1000),
      note: `${larger.events} events of ${larger.sessions} sessions in ${(larger.ms / 1000).toFixed(1)} s`,
    },
    { what: "second move without new events, per session", store, value: again.ms / again.sessions, unit: "ms" },
    {
      what: "growth of the time per event with 4 × the sessions",
      store,
      value: growth,
      unit: "×",
      goal: "linear (≤ 1.5 ×)",
      passed: growth <= 1.5,
    },
  ];
}

async function address(store: Target, places: Places): Promise<string> {
  const { folder, url } = await places.fresh(store);
  if (store === "postgres") return url ?? "";
  return store === "sqlite" ? `sqlite:${join(folder, "skein.db")}` : `file:${folder}`;
}

async function timed(from: string, to: string) {
  const started = performance.now();
  const { sessions: looked, events } = await move(from, to);
  return { ms: performance.now() - started, sessions: looked, events };
}
