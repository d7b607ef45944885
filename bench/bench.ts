/** `npm run bench -- NAME [options]`: runs one benchmark, or lists all of them. */
import { readdirSync } from "node:fs";
import { HELP as AGAINST_HELP, runAgainst } from "./compare/against.ts";

interface Bench {
  /** What the benchmark measures, in one line. */
  readonly summary: string;
  /** Returns whether every goal was met. */
  run(args: readonly string[]): Promise<boolean>;
}

/** Files of this folder that are not benchmarks. */
const PARTS = new Set(["bench.ts", "table.ts"]);

const folder = import.meta.dirname;
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".ts") && !PARTS.has(name))
  .map((name) => name.slice(0, -3));

const load = async (name: string): Promise<Bench> => (await import(`./${name}.ts`)) as Bench;

async function list(): Promise<void> {
  console.log("npm run bench -- NAME [options]\n\nBenchmarks, each with its own --help:\n");
  for (const name of names) console.log(`  ${name.padEnd(12)} ${(await load(name)).summary}`);
  console.log("\nExample: npm run bench -- store --quick\n");
  console.log(`Compare this checkout with an earlier commit:\n\n${AGAINST_HELP}`);
}

async function run(benchmark: string): Promise<boolean> {
  if (args.some((arg) => /^--against(?:=|$)/u.test(arg)))
    return runAgainst(benchmark, args).catch((error: unknown) => {
      console.error(error instanceof Error ? error.message : error);
      return false;
    });
  return (await load(benchmark)).run(args);
}

const [name, ...args] = process.argv.slice(2);
if (name === undefined || name === "--help" || name === "-h") await list();
else if (names.includes(name)) process.exitCode = (await run(name)) ? 0 : 1;
else {
  console.error(`Unknown benchmark "${name}". The benchmarks are: ${names.join(", ")}.`);
  process.exitCode = 2;
}
