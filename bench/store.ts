/** `npm run bench -- store`: the speed of the stores, compared with the bare database in the same run. */
import { cpus, loadavg } from "node:os";
import { STORES, type StoreName } from "../scripts/kill/open-store.ts";
import { benchAppend } from "./store/append.ts";
import { benchFollowing } from "./store/following.ts";
import { type Places, createPlaces } from "./store/places.ts";
import { benchReading } from "./store/reading.ts";
import { type Result, printed } from "./store/results.ts";
import { onSlowDisk, whyNoStrace } from "./store/slow-disk.ts";
import { benchWriters } from "./store/writers.ts";
import { readOptions } from "../scripts/read-options.ts";

export const summary = "append, read, list and follow on every store, compared with the bare database";

const HELP = `npm run bench -- store [options]

Measures the stores and the bare database with the same durability, in one run, and says which goals are met.
Ends with 1 if a goal was missed.

  --part NAME     append, slow-disk, writers, reading or following; may be given more than once (default: all)
  --store NAME    sqlite, postgres, filesystem or memory; may be given more than once (default: all)
  --quick         fewer events and sessions, shorter rounds
  --disk TEXT     what to call this disk in the report
  --json          the results as JSON

Examples:
  npm run bench -- store
  npm run bench -- store --part append --store sqlite
  npm run bench -- store --quick --json

Needs strace for slow-disk (2 ms injected into every fsync; sudo apt-get install strace), nothing else.`;

const PARTS = ["append", "slow-disk", "writers", "reading", "following"] as const;
type Part = (typeof PARTS)[number];
type Name = StoreName | "memory";
const NAMES: readonly Name[] = [...STORES, "memory"];

export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = readOptions("bench -- store", {
    args: [...args],
    options: {
      part: { type: "string", multiple: true, default: [...PARTS] },
      store: { type: "string", multiple: true, default: [...NAMES] },
      quick: { type: "boolean", default: false },
      disk: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return true;
  }
  const parts = chosen("part", values.part, PARTS);
  const stores = chosen("store", values.store, NAMES);
  const places = createPlaces();
  const results: Result[] = [];
  const context = { places, quick: values.quick, disk: values.disk, progress };
  try {
    for (const part of parts) for (const store of stores) results.push(...(await measure(part, store, context)));
  } finally {
    await places.cleanup();
  }
  console.log(values.json ? JSON.stringify(results) : report(results));
  return results.every(({ passed }) => passed !== false);
}

interface Context {
  readonly places: Places;
  readonly quick: boolean;
  readonly disk: string | undefined;
  readonly progress: (text: string) => void;
}

async function measure(part: Part, store: Name, { places, quick, disk, progress }: Context): Promise<Result[]> {
  switch (part) {
    case "append":
      return benchAppend(store, { places, progress, roundMs: quick ? 300 : 1500, ...(disk !== undefined && { disk }) });
    case "slow-disk":
      return store === "memory" ? [] : slowDisk(store, quick);
    case "writers":
      return benchWriters(store, { places, progress, events: eventsFor(store, quick) });
    case "reading":
      // Only these stores are meant for many sessions.
      return store === "sqlite" || store === "postgres"
        ? benchReading(store, { places, progress, sessions: quick ? 10_000 : 100_000 })
        : [];
    case "following":
      return benchFollowing(store, { places, progress });
  }
}

function slowDisk(store: StoreName, quick: boolean): Promise<Result[]> {
  const missing = whyNoStrace();
  if (missing !== undefined) throw new Error(missing);
  const args = ["store", "--part", "append", "--store", store, "--disk", ", fsync + 2 ms", "--json"];
  return onSlowDisk([...args, ...(quick ? ["--quick"] : [])], `${import.meta.dirname}/bench.ts`);
}

function eventsFor(store: Name, quick: boolean): number {
  if (store === "filesystem") return quick ? 1000 : 5000;
  return quick ? 10_000 : 100_000;
}

function chosen<Choice extends string>(what: string, given: readonly string[], choices: readonly Choice[]): Choice[] {
  const unknown = given.find((name) => !choices.includes(name as Choice));
  if (unknown !== undefined) throw new Error(`There is no ${what} "${unknown}". There are: ${choices.join(", ")}.`);
  return choices.filter((choice) => given.includes(choice));
}

function progress(text: string): void {
  process.stderr.write(`${text} …\n`);
}

function report(results: readonly Result[]): string {
  const missed = results.filter(({ passed }) => passed === false).length;
  const counted = results.filter(({ passed }) => passed !== undefined).length;
  const machine = `${cpus().length} cores, load ${loadavg()
    .map((load) => load.toFixed(1))
    .join(" ")}, Node ${process.versions.node}`;
  return `\n${printed(results)}\n\n${counted - missed} of ${counted} goals met (${machine}). Floor: the bare database in the same run; ratio: how many times slower.`;
}
