/**
 * `npm run bench -- history [folder] [--from DIR]`: compares Skein's history of Claude Code with other tools on the
 * same files.
 *
 * "Cold" means that Skein has no index, but the files are in the page cache. Figures are medians of several processes.
 * "First" is the first call of a process, which includes the compilation of the code. "Then" is the next call of the
 * process, again without an index. The other tools are installed from npm into a temporary folder.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { writeCorpus } from "@skein/history/testing";
import { agentRows } from "./history/agents.ts";
import { FROM_HELP, benchFolder } from "./history/folder.ts";
import type { Figure, Goal, Row } from "./history/rows.ts";
import type { Result } from "./store/results.ts";

export const summary =
  "list, usage, search, index, export and watch compared with ccusage, the Agent SDK and grep, on 400 MB";

const HELP = `npm run bench -- history [folder] [options]

Without a folder a corpus of 400 files and 400 MB is made, with the shape of real transcripts. Ends with 1 if a goal was missed.

${FROM_HELP}
  --only NAME    usage, list, search, index, export, watch or agents alone (agents: 10,000 sessions of six agents, made for it)
  --quick        one run of each measurement instead of five
  --alone        without fetching the other tools
  --json         the results as JSON
  --large        only the memory of calls on a corpus of 10,000 sessions and 2 GB, which is made first

Example:
  npm run bench -- history ~/.claude
`;

/** The words to search: rare, frequent, short, equal to JSON keys, and in other writing systems. */
const words = ["kaleidoscope", "error", "mcp", "message", "parentUuid", "検索", "ошибка"] as const;

let runs = 5;
const peers = ["ccusage@20.0.24", "@anthropic-ai/claude-agent-sdk"];

/** Returns whether every goal was met. */
export async function run(args: readonly string[]): Promise<boolean> {
  if (args.includes("--help")) {
    console.log(HELP);
    return true;
  }
  if (args.includes("--quick")) runs = 1;
  const isJson = args.includes("--json");
  const print = isJson ? printJson : printTable;
  const work = mkdtempSync(join(tmpdir(), "skein-bench-history-"));
  try {
    if (args.includes("--large")) return print(largeRows(work, isJson));
    const at = args.indexOf("--only");
    const only = at < 0 ? undefined : args[at + 1];
    if (only === "agents") return print(agentRows(work, runs));
    progress("transcripts");
    const folder = benchFolder(args, work);
    if (!isJson) describe(folder);
    const tools = args.includes("--alone") ? undefined : install(work);
    const parts: Readonly<Record<string, () => readonly Row[] | Promise<readonly Row[]>>> = {
      usage: () => usageRows(folder, work, tools),
      list: () => listRows(folder, work, tools),
      search: () => searchRows(folder, work),
      index: () => indexRows(folder, work),
      export: () => exportRows(folder, work),
      watch: async () => [await watchRow(work)],
      agents: () => agentRows(work, runs),
    };
    const rows: Row[] = [];
    for (const [name, make] of Object.entries(parts))
      if (only === undefined || only === name) {
        progress(name);
        rows.push(...(await make()));
      }
    return print(rows);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function usageRows(folder: string, work: string, tools: string | undefined): Row[] {
  const binary = tools && join(tools, "node_modules/ccusage/src/cli.js");
  const args = [binary ?? "", "claude", "daily", "--offline", "--json"];
  const command = ownCommand(["history", "usage", "--root", folder, "--no-cache", "--json"], work);
  const peer: readonly Command[] = binary ? [[process.execPath, args, { CLAUDE_CONFIG_DIR: folder }]] : [];
  const [whole, theirs] = alternating([command, ...peer]);
  const ours = inProcess(folder, work, "usage");
  const goal = { ms: theirs?.ms, mb: 150 };
  return [
    ["usage: ccusage 20.0.24, whole command", theirs],
    ["usage: cold, whole command", whole, goal],
    ["usage: cold, the call alone, first", ours.first],
    ["usage: cold, the call alone, then", ours.cold, { ms: theirs?.ms }],
    ["usage: again, nothing changed", ours.again, { ms: 50 }],
  ];
}

function listRows(folder: string, work: string, tools: string | undefined): Row[] {
  const theirs = tools ? sdkList(folder, tools) : undefined;
  const ours = inProcess(folder, work, "list");
  const all = inProcess(folder, work, "list-all");
  return [
    ["list: Agent SDK listSessions, first", theirs?.first],
    ["list: Agent SDK listSessions, then", theirs?.next],
    ["list: cold, page of 50, first", ours.first, { ms: 150 }],
    ["list: cold, page of 50, then", ours.cold, { ms: 150 }],
    ["list: cold, every session, then", all.cold],
    ["list: with the index, every session", all.again],
  ];
}

function searchRows(folder: string, work: string): Row[] {
  // All words share one index, because building it takes longer than all searches.
  const cache = mkdtempSync(join(work, "index-"));
  return words.flatMap((word): Row[] => {
    // The output goes to a file, because it is too large for a buffer. If the output is /dev/null, grep stops at the
    // first match.
    const theirs = whole("sh", ["-c", 'grep -r -i "$1" "$2" > "$3"', "sh", word, folder, join(work, "found")], {});
    progress(`search ${word}`);
    const ours = inProcess(folder, work, `search-${word}`, cache);
    const goal = { ms: theirs.ms * 1.5 };
    return [
      [`search ${word}: grep -ri`, theirs],
      [`search ${word}: cold, first`, ours.first],
      [`search ${word}: cold, then`, ours.cold, goal],
      [`search ${word}: with the index`, ours.again, { ms: 100 }],
    ];
  });
}

function indexRows(folder: string, work: string): Row[] {
  const figures = inProcess(folder, work, "index");
  return [
    ["index: build", figures.first, { ms: 6000, mb: 250 }],
    ["index: nothing new", figures.again],
  ];
}

function exportRows(folder: string, work: string): Row[] {
  return [["export: everything to HTML", inProcess(folder, work, "export").first, { ms: 8000 }]];
}

/** Measures 10,000 sessions. Memory must not grow with the number of sessions. */
function largeRows(work: string, isQuiet: boolean): Row[] {
  const folder = join(work, "large");
  writeCorpus({ folder, files: 10_000, bytes: 2_000_000_000, seed: 3 });
  if (!isQuiet) describe(folder);
  const goal = { ms: undefined, mb: 300 };
  const row = (what: string, name: string, kind: "once" | "indexed"): Row => {
    const { first, mb } = JSON.parse(child([folder, work, name, kind])) as { first: number; mb: number };
    return [`${what}, first`, { ms: first, mb }, goal];
  };
  return [
    row("list: cold, page of 50", "list", "once"),
    row("list: cold, every session", "list-all", "once"),
    row("usage: cold", "usage", "once"),
    row("search: cold, a word on every page", "search-error", "once"),
    row("index: build", "index", "indexed"),
    row("list: with the index, every session", "list-all", "indexed"),
    row("usage: with the index", "usage", "indexed"),
    row("search: with the index", "search-kaleidoscope", "indexed"),
  ];
}

/** Prints progress on standard error, so that standard output has only the table. */
const progress = (what: string): void => console.error(`${what} …`);

/** Measures the time until an appended line is reported. */
async function watchRow(work: string): Promise<Row> {
  const folder = join(work, "watched");
  const { sessions } = writeCorpus({ folder, files: 50, bytes: 5_000_000, seed: 4 });
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const path = join(folder, names.find((name) => name.endsWith(`${sessions[0]}.jsonl`)) ?? "");
  const { watch } = await import("@skein/history");
  const { appendFileSync } = await import("node:fs");
  const delays: number[] = [];
  const stop = new AbortController();
  let wrote = 0;
  const write = (): void => {
    wrote = performance.now();
    appendFileSync(path, `${JSON.stringify({ type: "user", uuid: `w${delays.length}`, message: { content: "x" } })}\n`);
  };
  setTimeout(write, 300);
  for await (const _ of watch({ dataPath: folder, cacheFolder: null, signal: stop.signal })) {
    delays.push(performance.now() - wrote);
    if (delays.length === 20) break;
    setTimeout(write, 50);
  }
  return ["watch: one line, from written to reported, worst of 20", { ms: Math.max(...delays), mb: 0 }, { ms: 200 }];
}

interface Measured {
  readonly first: Figure;
  readonly cold: Figure;
  readonly again: Figure;
}

type Call = keyof Measured;

function inProcess(folder: string, work: string, what: string, index?: string): Measured {
  const results: { first: number; cold: number; again: number; mb: number; cpu: Record<Call, number> }[] = [];
  for (let i = 0; i < (what === "export" || what === "index" ? Math.min(runs, 3) : runs); i += 1) {
    const cache = index ?? mkdtempSync(join(work, "cache-"));
    results.push(JSON.parse(child([folder, cache, what])) as (typeof results)[number]);
    if (index === undefined) rmSync(cache, { recursive: true, force: true });
  }
  const mb = Math.max(...results.map((result) => result.mb));
  const figure = (call: Call): Figure => ({
    ms: median(results.map((result) => result[call])),
    mb,
    cpu: median(results.map(({ cpu }) => cpu[call])),
  });
  return { first: figure("first"), cold: figure("cold"), again: { ...figure("again"), mb: 0 } };
}

type Command = readonly [name: string, args: readonly string[], env: Readonly<Record<string, string>>];

/** Returns a command that starts `skein` like a user, with a new Node process. */
function ownCommand(args: readonly string[], work: string): Command {
  const command = join(import.meta.dirname, "../packages/cli/bin/skein.js");
  return [process.execPath, [...flags, command, ...args], { SKEIN_DATA_DIR: join(work, "data") }];
}

const flags = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning"];
const childArgs = [...flags, join(import.meta.dirname, "history/child.ts")];

function child(args: readonly string[]): string {
  const result = spawnSync(process.execPath, [...childArgs, ...args], { encoding: "utf8" });
  if (result.status !== 0) throw new Error(result.stderr);
  return result.stdout;
}

function whole(...command: Command): Figure {
  const [figure = { ms: Number.NaN, mb: 0 }] = alternating([command]);
  return figure;
}

/**
 * Measures the time and, if possible, the largest memory of commands. The commands alternate, so that a change of the
 * machine's load affects all commands. The first round is not counted, because it fills the caches of compiled code.
 */
function alternating(commands: readonly Command[]): readonly Figure[] {
  const measured = commands.map(() => [] as Figure[]);
  for (let turn = 0; turn <= runs; turn += 1)
    for (const [at, command] of commands.entries()) {
      const figure = once(command);
      if (turn > 0) measured[at]?.push(figure);
    }
  return measured.map((figures) => ({
    ms: median(figures.map(({ ms }) => ms)),
    mb: Math.max(...figures.map(({ mb }) => mb)),
    cpu: median(figures.map(({ cpu = 0 }) => cpu)),
  }));
}

function once([command, args, env]: Command): Figure {
  const canMeasure = existsSync("/usr/bin/time");
  const started = performance.now();
  const [name, all] = canMeasure ? ["/usr/bin/time", ["-f", "%M %U %S", command, ...args]] : [command, args];
  const result = spawnSync(name, all, { encoding: "utf8", env: { ...process.env, ...env }, maxBuffer: 1 << 28 });
  const ms = performance.now() - started;
  const [kilobytes = 0, user = 0, system = 0] = (result.stderr.trim().split("\n").at(-1) ?? "").split(" ").map(Number);
  return { ms, mb: kilobytes / 1024 || 0, cpu: (user + system) * 1000 || 0 };
}

function sdkList(folder: string, tools: string): { readonly first: Figure; readonly next: Figure } {
  const file = join(tools, "list.mjs");
  writeFileSync(
    file,
    `import { listSessions } from "@anthropic-ai/claude-agent-sdk";
const time = async () => { const start = performance.now(); await listSessions({}); return performance.now() - start; };
console.log(JSON.stringify([await time(), await time()]));`,
  );
  const times = Array.from({ length: runs }, () => {
    const env = { ...process.env, CLAUDE_CONFIG_DIR: folder };
    const [first = 0, next = 0] = JSON.parse(
      spawnSync(process.execPath, [file], { encoding: "utf8", env }).stdout,
    ) as number[];
    return { first, next };
  });
  return {
    first: { ms: median(times.map(({ first }) => first)), mb: 0 },
    next: { ms: median(times.map(({ next }) => next)), mb: 0 },
  };
}

function install(work: string): string | undefined {
  const tools = mkdtempSync(join(work, "tools-"));
  writeFileSync(join(tools, "package.json"), JSON.stringify({ private: true, type: "module" }));
  try {
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...peers], {
      cwd: tools,
      stdio: "pipe",
    });
    return tools;
  } catch {
    console.error("The other tools could not be fetched; only our own figures follow.");
    return undefined;
  }
}

function describe(folder: string): void {
  let files = 0;
  let bytes = 0;
  for (const name of readdirSync(join(folder, "projects"), { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".jsonl")) continue;
    files += 1;
    bytes += statSync(join(folder, "projects", name)).size;
  }
  console.log(`${files} transcripts, ${(bytes / 1e6).toFixed(0)} MB, Node ${process.versions.node}\n`);
}

function printJson(rows: readonly Row[]): boolean {
  const results = rows.flatMap(([what, figure, goal]): Result[] => {
    if (!figure) return [];
    const time = { what, store: "", value: figure.ms, unit: "ms", passed: !isMissed(figure, goal) };
    const memory = { what: `${what}, memory`, store: "", value: figure.mb, unit: "MB" };
    return figure.mb > 0 ? [time, memory] : [time];
  });
  console.log(JSON.stringify(results));
  return results.every(({ passed }) => passed !== false);
}

function isMissed(figure: Figure | undefined, goal: Goal | undefined): boolean {
  if (!figure || !goal) return false;
  return figure.ms > (goal.ms ?? Infinity) || figure.mb > (goal.mb ?? Infinity);
}

function printTable(rows: readonly Row[]): boolean {
  const width = Math.max(...rows.map(([what]) => what.length));
  console.log(
    `Load of the machine: ${loadavg()[0]?.toFixed(1)}. Above 1, other programs used the processors too, and the times are longer than on an idle machine.`,
  );
  console.log(`${"".padEnd(width)}  ${"ms".padStart(8)}  ${"cpu ms".padStart(8)}  ${"max MB".padStart(7)}  goal`);
  let missed = 0;
  for (const [what, figure, goal] of rows) {
    const ms = figure ? shown(figure.ms) : "-";
    const mb = figure && figure.mb > 0 ? figure.mb.toFixed(0) : "";
    const isOver = isMissed(figure, goal);
    if (isOver) missed += 1;
    console.log(
      `${what.padEnd(width)}  ${ms.padStart(8)}  ${(figure?.cpu ? shown(figure.cpu) : "").padStart(8)}  ${mb.padStart(7)}  ${goalText(goal)}${isOver ? "  MISSED" : ""}`,
    );
  }
  return missed === 0;
}

/** Formats a time. A time below 10 ms has two decimals. */
function shown(figure: number): string {
  return figure.toFixed(figure < 10 ? 2 : 0);
}

function goalText(goal: Goal | undefined): string {
  const ms = goal?.ms === undefined ? [] : [goal.ms < 10 ? `≤ ${goal.ms}` : `≤ ${goal.ms.toFixed(0)} ms`];
  return [...ms, ...(goal?.mb === undefined ? [] : [`${goal.mb} MB`])].join(", ");
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
