/**
 * `npm run bench -- sql [folder]`: questions over the tables, compared with a hand-written `read_ndjson` query for
 * each.
 *
 * Bare is the hand-written query. Cold asks the same question over the tables, in a new process without a cache. Warm
 * asks it again, with the cached copy. Each runs in its own process with two threads, alternating with the others, on
 * the same files in the page cache. The fastest of several runs is shown, because the machine is shared.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, utimesSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { discover, withSources } from "@skein/history";
import { writeMixed } from "./history/agents.ts";
import { FROM_HELP, benchFolder } from "./history/folder.ts";
import { firstAnswers } from "./sql/first-answers.ts";
import { QUESTIONS, QUESTIONS_OF_ALL } from "./sql/questions.ts";
import { table } from "./table.ts";

export const summary =
  "SQL over transcripts compared with hand-written read_ndjson, on 400 MB; time until `skein sql` is ready";

const HELP = `npm run bench -- sql [folder] [options]

Without a folder a corpus of 400 files and 400 MB is made, with the shape of real transcripts. Ends with 1 if a goal was missed.

${FROM_HELP}
  --agents       only the questions over the sessions of all agents
  --quick        two runs of each question instead of five
  --large        a corpus of 2 GB: the same questions, for their memory
`;

const GOALS = { coldRatio: 1.3, warmMs: 50, megabytes: 400, startMs: 300, buildMs: 12_000, firstMs: 3000 };
const bin = join(import.meta.dirname, "../packages/cli/bin/skein.js");

/** Returns whether every goal was met. */
export async function run(args: readonly string[]): Promise<boolean> {
  if (args.includes("--help")) {
    console.log(HELP);
    return true;
  }
  const isLarge = args.includes("--large");
  const times = args.includes("--quick") || isLarge ? 2 : 5;
  const work = mkdtempSync(join(tmpdir(), "skein-bench-sql-"));
  try {
    const rows: string[][] = [];
    let isMet = true;
    const row = (what: string, [figure, processor = ""]: readonly string[], goal = "", met?: boolean): void => {
      rows.push([what, figure ?? "", processor, goal, met === undefined ? "" : met ? "met" : "missed"]);
      isMet &&= met !== false;
    };
    const print = (): boolean => {
      console.log(
        `Load of the machine: ${loadavg()[0]?.toFixed(1)}. Above 1, other programs used the processors too, and the times are longer than on an idle machine.\n`,
      );
      console.log(table(["what", "figure", "processor", "at most", "goal"], rows));
      return isMet;
    };
    if (!isLarge) await questionsOfAll({ work, times }, row);
    if (args.includes("--agents")) return print();
    progress("Making the transcripts");
    const folder = benchFolder(args, work, isLarge ? 5 : 1);
    const place = { folder, cache: join(work, "cache"), times };
    progress("Making the copy");
    const built = build(place, work);
    let most = 0;
    for (const [at, { what }] of QUESTIONS.entries()) {
      progress(`${what}: by hand, cold and warm`);
      const { bare, cold, warm, megabytes } = measure(at, place, [folder], ["bare", "cold", "warm"]);
      most = Math.max(most, megabytes);
      row(`${what}, by hand`, [ms(bare.ms), ms(bare.processorMs)]);
      const ratio = cold.ms / bare.ms;
      const goal = isLarge ? undefined : ratio <= GOALS.coldRatio;
      const processor = `${ms(cold.processorMs)}, ${(cold.processorMs / bare.processorMs).toFixed(2)} times`;
      row(`${what}, cold`, [`${ms(cold.ms)}, ${ratio.toFixed(2)} times`, processor], `${GOALS.coldRatio} times`, goal);
      const isQuick = isLarge ? undefined : warm.ms <= GOALS.warmMs;
      row(`${what}, warm`, [ms(warm.ms), ms(warm.processorMs)], `${GOALS.warmMs} ms`, isQuick);
    }
    row(
      "memory of a question, cold or warm",
      [`${Math.round(most)} MB`],
      `${GOALS.megabytes} MB`,
      most <= GOALS.megabytes,
    );
    progress("Start of skein sql");
    const start = await startOf(place, work);
    row(
      "start of skein sql to the first row",
      [ms(start)],
      `${GOALS.startMs} ms`,
      isLarge ? undefined : start <= GOALS.startMs,
    );
    progress("What a copy takes at least");
    const floors = JSON.parse(
      node("--conditions=@skein/source", join(import.meta.dirname, "sql/floors.ts"), folder, work),
    ) as Record<"stored" | "parsed", Measured>;
    row("by hand: DuckDB stores every line", [seconds(floors.stored.ms), seconds(floors.stored.processorMs)]);
    row("by hand: JSON.parse of every line", [seconds(floors.parsed.ms), seconds(floors.parsed.processorMs)]);
    row(
      "making the copy",
      [`${seconds(built.ms)}, ${Math.round(built.megabytes)} MB`, seconds(built.processorMs)],
      `${GOALS.buildMs / 1000} s`,
      isLarge ? undefined : built.ms <= GOALS.buildMs,
    );
    progress("First answers of skein mcp and of HTTP");
    for (const [what, first] of await firstAnswers({ folder, work }))
      row(what, [ms(first)], `${GOALS.firstMs} ms`, isLarge ? undefined : first <= GOALS.firstMs);
    return print();
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

type Kind = "bare" | "cold" | "warm";

interface Place {
  readonly folder: string;
  readonly cache: string;
  readonly times: number;
}

type AddRow = (what: string, figures: readonly string[], goal?: string, met?: boolean) => void;

/** Measures questions over 100 MB of sessions of six agents, after Skein has translated their files to JSON lines. */
async function questionsOfAll({ work, times }: { readonly work: string; readonly times: number }, row: AddRow) {
  progress("Making the sessions of all agents");
  const cacheFolder = join(work, "agents-cache");
  const { config } = await withSources({ dataPath: Object.values(writeMixed(join(work, "agents"), 4)), cacheFolder });
  for (const [at, { what }] of QUESTIONS_OF_ALL.entries()) {
    progress(`${what}: by hand and cold`);
    const place = { cache: cacheFolder, times };
    const { bare, cold } = measure(QUESTIONS.length + at, place, config.dataPath as string[], ["bare", "cold"]);
    const ratio = cold.ms / bare.ms;
    const processor = `${ms(cold.processorMs)}, ${(cold.processorMs / bare.processorMs).toFixed(2)} times`;
    const goal = [`${GOALS.coldRatio} times`, ratio <= GOALS.coldRatio] as const;
    row(`${what}, by hand`, [ms(bare.ms), ms(bare.processorMs)]);
    row(`${what}, cold`, [`${ms(cold.ms)}, ${ratio.toFixed(2)} times`, processor], ...goal);
  }
}

interface Measured {
  readonly ms: number;
  /** The processor time of both threads: more stable than elapsed time on a shared machine. */
  readonly processorMs: number;
}

/** The variants are measured in turn, so that other load does not affect only one of them. */
function measure(
  at: number,
  { cache, times }: Omit<Place, "folder">,
  folders: readonly string[],
  kinds: readonly Kind[],
) {
  const nothing: Measured = { ms: Infinity, processorMs: Infinity };
  const found = { bare: nothing, cold: nothing, warm: nothing };
  let megabytes = 0;
  for (let n = 0; n < times; n += 1)
    for (const how of kinds) {
      const child = join(import.meta.dirname, "sql/child.ts");
      const answer = JSON.parse(
        node("--conditions=@skein/source", child, how, String(at), cache, ...folders),
      ) as Measured & {
        readonly megabytes: number;
      };
      found[how] = {
        ms: Math.min(found[how].ms, answer.ms),
        processorMs: Math.min(found[how].processorMs, answer.processorMs),
      };
      if (how !== "bare") megabytes = Math.max(megabytes, answer.megabytes);
    }
  return { ...found, megabytes };
}

function node(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", ...args], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

const environment = (work: string, cache: string): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"] ?? "",
  HOME: work,
  SKEIN_CACHE_DIR: cache,
});

function build({ folder, cache }: Place, work: string): Measured & { readonly megabytes: number } {
  // The cached copy leaves out files that were just written, so the files get an older time.
  const old = new Date(Date.now() - 60_000);
  for (const { path, mtimeMs } of discover({ dataPath: folder }).files)
    if (mtimeMs > Number(old)) utimesSync(path, old, old);
  const start = performance.now();
  const args = [bin, "sql", "cache", "build", "--root", folder];
  const canMeasure = existsSync("/usr/bin/time");
  const { status, stdout, stderr } = spawnSync(
    canMeasure ? "/usr/bin/time" : process.execPath,
    canMeasure ? ["-f", "%U %S", process.execPath, ...args] : args,
    { env: environment(work, cache), encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stderr);
  const file = stdout.trim().split(": ").at(-1) ?? "";
  const seconds = (stderr.trim().split("\n").at(-1) ?? "").split(" ").map(Number);
  const processorMs = 1000 * seconds.reduce((sum, each) => sum + each, 0);
  return { ms: performance.now() - start, processorMs, megabytes: statSync(file).size / 2 ** 20 };
}

/** The time from the start of the process to the first byte of the answer. */
async function startOf({ folder, cache, times }: Place, work: string): Promise<number> {
  let least = Infinity;
  for (let n = 0; n <= times; n += 1) {
    const start = performance.now();
    const args = [bin, "sql", "SELECT message_type, count(*) FROM claude_conversations GROUP BY 1", "--root", folder];
    const child = spawn(process.execPath, args, { env: environment(work, cache), stdio: ["ignore", "pipe", "ignore"] });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    least = Math.min(least, performance.now() - start);
    await new Promise((resolve) => child.once("close", resolve));
  }
  return least;
}

/** Printed on standard error, so that standard output has only the table. */
const progress = (text: string): void => console.error(`${text} …`);

const ms = (value: number): string => `${Math.round(value)} ms`;
const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
