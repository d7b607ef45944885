/** `npm run kill` kills processes repeatedly, and checks that stores lose nothing that they had acknowledged. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { whyNoStrace } from "../bench/store/slow-disk.ts";
import { table } from "../bench/table.ts";
import { type Outcome, runCampaign } from "./kill/campaign.ts";
import type { Writer } from "./kill/child-processes.ts";
import { everyFault } from "./kill/faults.ts";
import { ADAPTERS } from "./kill/loop-models.ts";
import { killLoop, printedLoop } from "./kill/loop.ts";
import { STORES, type StoreName } from "./kill/open-store.ts";
import { type Postgres, createDatabase, startPostgres } from "./postgres.ts";
import { readOptions } from "./read-options.ts";

const HELP = `npm run kill -- [options]

A process that runs 20 sessions with tools is killed with SIGKILL at a random moment and started again, repeatedly.
A server outside of Skein counts the effects of the tools, and the simulator counts the model calls. Then the command
checks that no prompt is lost, that no tool with the policy "once" took effect twice, that every call has a result,
that every run has one end, and that every model call is in the log. The stores are sqlite and postgres, whose server
is crashed as well.

npm run kill -- --store [NAME] [options]

A real process writes to a store through eight writers at once (sessions, prompts with idempotency keys, runs under a
lease, records, deletions) and reports each answer over a pipe. It is killed with SIGKILL at a random moment. A new
process opens the store and checks that nothing acknowledged is lost, nothing is stored twice, sequences have no gap,
repeated ids and keys get the same answer, and rows equal the log. For postgres the server is also killed (immediate
shutdown) during writes. If something is wrong, the command prints the evidence, keeps the folder, and ends with exit
code 1.

  --store [NAME]  only stores, without agents: sqlite, filesystem, postgres or all (default: all)
  --on NAME       the store on which sessions are run: sqlite, postgres or all (default: all)
  --model NAME    the model adapter: anthropic (default), bedrock, vertex, openai, openai-compatible, ai-sdk or all
  --cycles N      kills per store (default: 50); the server of postgres is killed N / 5 times
  --seed S        chooses the moments and what is written (default: the time)
  --faults        no kills: makes the first, second, third … write or fsync of a short run fail (EIO, ENOSPC; once,
                  and from then on), until a run has fewer calls than that; sqlite and filesystem; needs strace
  --quick         writes for 20 to 150 ms instead of 50 to 1,500
  --json          the outcome as JSON

Examples:
  npm run kill -- --cycles 200
  npm run kill -- --on sqlite --cycles 20 --seed 7
  npm run kill -- --on sqlite --model all --cycles 40
  npm run kill -- --store
  npm run kill -- --store sqlite --cycles 200
  npm run kill -- --store postgres --seed 42
  npm run kill -- --store sqlite --faults`;

export interface KillOptions {
  readonly stores: readonly StoreName[];
  readonly cycles: number;
  readonly seed: number;
  readonly delayMs: readonly [least: number, most: number];
  readonly folder: string;
  readonly progress?: (text: string) => void;
}

/** Runs one campaign after the other, and returns their outcomes. */
export async function kill({ stores, cycles, seed, delayMs, folder, progress }: KillOptions): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const common = { seed, delayMs, folder, ...(progress && { progress }) };
  for (const store of stores) {
    const place = { folder: join(folder, store) };
    if (store !== "postgres") {
      outcomes.push(await runCampaign({ ...common, name: store, store, cycles, place }));
      continue;
    }
    // With empty settings, the server has its defaults: fsync and full_page_writes are on.
    const server = await startPostgres({ settings: {}, prefix: "skein-kill-pg-" });
    try {
      const { url } = await createDatabase(server.url);
      outcomes.push(await runCampaign({ ...common, name: store, store, cycles, place: { ...place, url } }));
      outcomes.push(await killServer(server, { ...common, cycles: Math.ceil(cycles / 5), place }));
    } finally {
      await server.stop();
    }
  }
  return outcomes;
}

/** Crashes and restarts the PostgreSQL server while a process continues writing. */
async function killServer(
  server: Postgres,
  campaign: Omit<KillOptions, "stores"> & { readonly place: { readonly folder: string } },
): Promise<Outcome> {
  const { url } = await createDatabase(server.url);
  const place = { ...campaign.place, url };
  const stuck: string[] = [];
  const crash = async (writer: Writer, cycle: number): Promise<void> => {
    await server.crash();
    await sleep((cycle % 3) * 150);
    await server.start();
    const before = writer.acknowledged();
    const deadline = Date.now() + 10_000;
    while (writer.acknowledged() < before + 20 && Date.now() < deadline) await sleep(20);
    if (writer.acknowledged() < before + 20)
      stuck.push(
        `postgres server, cycle ${cycle + 1}: the writer did not continue within 10 s after the server had restarted.`,
      );
    await writer.kill();
  };
  const outcome = await runCampaign({ ...campaign, name: "postgres server", store: "postgres", place, crash });
  return { ...outcome, violations: [...stuck, ...outcome.violations] };
}

export function printed(outcomes: readonly Outcome[]): string {
  const number = (value: number): string => Math.round(value).toLocaleString("en");
  return table(
    [
      "killed",
      "cycles",
      "acknowledged",
      "no answer",
      "of these done",
      "sessions",
      "events",
      "slowest open",
      "violations",
    ],
    outcomes.map((outcome) => [
      outcome.name,
      number(outcome.cycles),
      number(outcome.acknowledged),
      number(outcome.unanswered),
      number(outcome.happened),
      number(outcome.sessions),
      number(outcome.events),
      `${number(outcome.openMs)} ms`,
      number(outcome.violations.length),
    ]),
  );
}

async function main(): Promise<void> {
  const { values, positionals } = readOptions("kill", {
    allowPositionals: true,
    options: {
      store: { type: "boolean", default: false },
      on: { type: "string", default: "all" },
      model: { type: "string", default: "anthropic" },
      cycles: { type: "string", default: "50" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      quick: { type: "boolean", default: false },
      faults: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [cycles, seed] = [Number(values.cycles), Number(values.seed)];
  const [name = "all"] = positionals;
  if (values.help) {
    console.log(HELP);
    return;
  }
  if (name !== "all" && !STORES.includes(name as StoreName))
    throw new Error(`There is no store "${name}" to kill. There are: ${STORES.join(", ")}, all.`);
  if (!Number.isInteger(cycles) || cycles < 1)
    throw new Error(`--cycles must be a positive number, not ${values.cycles}.`);
  if (!Number.isInteger(seed)) throw new Error(`--seed must be a number, not ${values.seed}.`);
  if (!values.store) return killWorkers({ cycles, seed, on: values.on, model: values.model, json: values.json });
  const stores = name === "all" ? STORES : [name as StoreName];
  if (values.faults) return tryFaults(stores);
  const folder = mkdtempSync(join(tmpdir(), "skein-kill-"));
  const cleanUp = (): void => rmSync(folder, { recursive: true, force: true });
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      cleanUp();
      process.exit(130);
    });
  const outcomes = await kill({
    stores,
    cycles,
    seed,
    delayMs: values.quick ? [20, 150] : [50, 1500],
    folder,
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  const violations = outcomes.flatMap((outcome) => outcome.violations);
  console.log(values.json ? JSON.stringify({ seed, outcomes }) : `\n${printed(outcomes)}\n`);
  for (const violation of violations) console.error(violation);
  if (violations.length === 0) cleanUp();
  else console.error(`\n${violations.length} violations with seed ${seed}. The stores and journals are in ${folder}.`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}

/** Kills workers that run sessions with the agent loop (Skein's own calls of models and tools). */
async function killWorkers(options: {
  cycles: number;
  seed: number;
  on: string;
  model: string;
  json: boolean;
}): Promise<void> {
  const { cycles, seed, on, model, json } = options;
  const adapters = ADAPTERS.filter((name) => model === "all" || name === model);
  if (adapters.length === 0)
    throw new Error(`There is no model "${model}" to ask. There are: ${ADAPTERS.join(", ")}, all.`);
  if (on !== "sqlite" && on !== "postgres" && on !== "all")
    throw new Error(`--on must be sqlite, postgres or all, not "${on}".`);
  const outcomes = await killLoop({
    cycles,
    seed,
    on,
    adapters,
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  const violations = outcomes.flatMap((outcome) => outcome.violations);
  console.log(json ? JSON.stringify({ seed, outcomes }) : `\n${printedLoop(outcomes)}\n`);
  for (const violation of violations) console.error(JSON.stringify(violation));
  process.exitCode = violations.length === 0 ? 0 : 1;
}

async function tryFaults(stores: readonly StoreName[]): Promise<void> {
  const missing = whyNoStrace();
  if (missing !== undefined) throw new Error(missing);
  for (const store of stores) {
    if (store === "postgres") continue;
    const { runs, violations } = await everyFault(store, (text) => process.stderr.write(`${text}\n`));
    console.log(`${store}: ${runs} runs, each with at least one fault, ${violations.length} violations.`);
    for (const violation of violations) console.error(violation);
    if (violations.length > 0) process.exitCode = 1;
  }
}

if (import.meta.main) await main();
