/**
 * `npm run simulate` runs workers and their store in a simulated world with random faults.
 *
 * Everything depends on a seed, so a failure can be repeated, for example with `--seed 17 --mode liveness --trace`.
 */
import { parseArgs } from "node:util";
import {
  MUTANTS,
  type Mutant,
  type SimulationMode,
  type SimulationResult,
  createLoopRuntime,
  isMutant,
  simulate,
} from "@skein/core/testing";

const HELP = `npm run simulate -- [options]

Simulates one world for each seed: 3 workers, 2 clients and 2 readers on a store in memory, with crashes at every
await, frozen workers, lost answers, late requests, lost notices and broken streams. Then checks the invariants of the
log.

  --seeds N      how many seeds (default 1000)
  --start S      the first seed (default 1)
  --mode M       safety: faults until the end; liveness: the faults stop and everything must finish; both (default)
  --seed S       only this seed
  --runtime R    scripted: a small runtime for simulations, with every mutant (default); loop: Skein's agent loop
  --trace        with --seed: everything that happened, line by line
  --mutant NAME  plants a bug, and stops at the first seed that finds it; "all" tries every mutant
  --json         the result as one JSON object
  --help         this text

Exit code 0: no invariant was violated; 1: an invariant was violated. With --mutant, 0: the planted bug was found; 1: it
was not found.

Examples
  npm run simulate -- --seeds 20000
  npm run simulate -- --seed 17 --mode liveness --trace
  npm run simulate -- --mutant no-fence
  npm run simulate -- --mutant all --json

Mutants
${Object.entries(MUTANTS)
  .map(([name, what]) => `  ${name.padEnd(24)} ${what}`)
  .join("\n")}
`;

interface Options {
  readonly first: number;
  readonly count: number;
  readonly modes: readonly SimulationMode[];
  readonly single: boolean;
  readonly trace: boolean;
  readonly json: boolean;
  readonly mutants: readonly Mutant[];
  readonly runtime: "scripted" | "loop";
}

/** A seed for which something failed. */
interface Failure extends Pick<SimulationResult, "seed" | "mode" | "violations"> {
  readonly replay: string;
}

interface Campaign {
  runs: number;
  turns: number;
  events: number;
  seconds: number;
  /** A hash of all traces in their order. */
  hash: string;
  readonly failures: Failure[];
}

/** The campaign stops after this number of failures, because a broken build fails for nearly every seed. */
const MAX_FAILURES = 5;
const PROGRESS_MS = 5000;

const stop = { asked: false };
process.on("SIGINT", () => {
  if (stop.asked) process.exit(130);
  stop.asked = true;
});

const options = readOptions();
if (options) process.exitCode = options.mutants.length > 0 ? await hunt(options) : await search(options);

function readOptions(): Options | undefined {
  try {
    return checkedOptions();
  } catch (error) {
    return wrong((error as Error).message);
  }
}

function checkedOptions(): Options | undefined {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "1000" },
      start: { type: "string", default: "1" },
      mode: { type: "string", default: "both" },
      seed: { type: "string" },
      runtime: { type: "string", default: "scripted" },
      trace: { type: "boolean", default: false },
      mutant: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return undefined;
  }
  const { mode, mutant, seed, runtime } = values;
  if (runtime !== "scripted" && runtime !== "loop") return wrong(`--runtime is scripted or loop, not "${runtime}".`);
  if (mode !== "both" && mode !== "safety" && mode !== "liveness")
    return wrong(`--mode is safety, liveness or both, not "${mode}".`);
  if (mutant !== undefined && mutant !== "all" && !isMutant(mutant))
    return wrong(`There is no mutant "${mutant}". The mutants are: all, ${Object.keys(MUTANTS).join(", ")}.`);
  const [first, count] = [Number(seed ?? values.start), seed === undefined ? Number(values.seeds) : 1];
  if (!Number.isSafeInteger(first) || first < 0 || !Number.isSafeInteger(count) || count < 1)
    return wrong("--seed, --start and --seeds are whole numbers, and at least one seed is needed.");
  if (values.trace && seed === undefined) return wrong("--trace needs --seed, because a trace shows one seed.");
  return {
    first,
    count,
    runtime,
    modes: mode === "both" ? ["safety", "liveness"] : [mode],
    single: seed !== undefined,
    trace: values.trace,
    json: values.json,
    mutants: mutant === undefined ? [] : mutant === "all" ? (Object.keys(MUTANTS) as Mutant[]) : [mutant],
  };
}

function wrong(sentence: string): undefined {
  console.error(`${sentence}\nSee npm run simulate -- --help`);
  process.exitCode = 2;
}

async function search(options: Options): Promise<number> {
  const campaign = await play(options, null, MAX_FAILURES);
  if (options.json) console.log(JSON.stringify({ ...campaign, interrupted: stop.asked }, null, 2));
  else {
    for (const failure of campaign.failures) print(failure);
    summarise(campaign);
  }
  return campaign.failures.length > 0 ? 1 : 0;
}

async function hunt(options: Options): Promise<number> {
  const found: { mutant: Mutant; seconds: number; failure: Failure | null }[] = [];
  for (const mutant of options.mutants) {
    if (stop.asked) break;
    const { failures, seconds } = await play(options, mutant, 1);
    const failure = failures[0] ?? null;
    found.push({ mutant, seconds, failure });
    if (options.json) continue;
    const where = failure ? `seed ${failure.seed} (${failure.mode})` : "NOT FOUND";
    const first = failure?.violations[0];
    console.log(`${mutant.padEnd(24)} ${where.padEnd(20)} ${first ? `${first.invariant}: ${first.sentence}` : ""}`);
    if (failure && options.mutants.length === 1) print(failure);
  }
  if (options.json) console.log(JSON.stringify({ mutants: found, interrupted: stop.asked }, null, 2));
  const missed = found.filter(({ failure }) => failure === null).length;
  if (!options.json) console.log(`${found.length - missed} of ${found.length} planted bugs found`);
  return missed > 0 ? 1 : 0;
}

async function play(options: Options, mutant: Mutant | null, maxFailures: number): Promise<Campaign> {
  const { first, count, modes, json, trace, runtime } = options;
  const loop = runtime === "loop" ? { createRuntime: createLoopRuntime, answers: true } : {};
  const campaign: Campaign = { runs: 0, turns: 0, events: 0, seconds: 0, hash: "", failures: [] };
  const started = performance.now();
  let told = started;
  let hash = 0;
  for (let seed = first; seed < first + count && !stop.asked; seed++)
    for (const mode of modes) {
      const result = await simulate({ seed, mode, mutant, keepTrace: trace, ...loop });
      campaign.runs += 1;
      campaign.turns += result.turns;
      campaign.events += result.events;
      campaign.seconds = (performance.now() - started) / 1000;
      hash = (Math.imul(hash, 31) + Number.parseInt(result.hash, 16)) >>> 0;
      campaign.hash = hash.toString(16).padStart(8, "0");
      if (trace && !json) console.log(`${result.trace.join("\n")}\n`);
      if (options.single && !json) console.log(`seed ${seed} ${mode}: ${result.turns} turns, trace ${result.hash}`);
      if (result.violations.length > 0) campaign.failures.push(failureOf(result, mutant, runtime));
      if (campaign.failures.length >= maxFailures) return campaign;
      if (performance.now() - told < PROGRESS_MS) continue;
      told = performance.now();
      const speed = (campaign.runs / campaign.seconds).toFixed(0);
      console.error(`seed ${seed} of ${first + count - 1}, ${speed} runs/s, ${campaign.failures.length} failed`);
    }
  return campaign;
}

function failureOf(
  { seed, mode, violations }: SimulationResult,
  mutant: Mutant | null,
  runtime: Options["runtime"],
): Failure {
  const planted = mutant ? ` --mutant ${mutant}` : "";
  const driven = runtime === "loop" ? " --runtime loop" : "";
  const flags = `--seed ${seed} --mode ${mode}${planted}${driven} --trace`;
  return { seed, mode, violations, replay: `npm run simulate -- ${flags}` };
}

function print({ seed, mode, violations, replay }: Failure): void {
  console.log(`\nseed ${seed} (${mode}): ${violations.length} violations`);
  for (const { invariant, sentence, evidence } of violations.slice(0, 10))
    console.log(`  ${invariant}  ${sentence}\n      ${JSON.stringify(evidence).slice(0, 400)}`);
  console.log(`  again: ${replay}`);
}

function summarise({ runs, turns, events, seconds, failures, hash }: Campaign): void {
  const speed = seconds > 0 ? (runs / seconds).toFixed(0) : "0";
  const stopped = stop.asked ? "stopped by Ctrl-C after " : "";
  console.log(
    `\n${stopped}${runs} runs in ${seconds.toFixed(1)} s (${speed} runs/s), ${turns} turns, ${events} events, trace ${hash}: ` +
      (failures.length === 0 ? "nothing found" : `${failures.length} failed`),
  );
}
