/**
 * Compares 10,000 sessions of six coding agents with 10,000 sessions of Claude Code alone, in the same run.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeCorpus } from "@skein/history/testing";
import { writeCopilot, writeGemini, writeOpencode, writePi, writeRollouts } from "./agents-corpus.ts";
import type { Row } from "./rows.ts";

const sessions = 10_000;
/**
 * The sessions of the other five agents have 46 kB on average. Those of Claude Code have about the same size, because
 * the generator makes them larger than `claudeBytes`.
 */
const bytes = 460_000_000;
const claudeBytes = 20_000;

interface Timed {
  readonly ms: number;
  readonly mb: number;
  readonly cpu: number;
}

/**
 * The goals are 1.2 times Claude Code's time per byte for usage, 250 ms for a list (300 ms for a database of 500 MB),
 * 100 ms for a search, and 150 MB of memory.
 */
export function agentRows(work: string, runs: number): readonly Row[] {
  const alone = join(work, "claude-alone");
  writeCorpus({ folder: alone, files: sessions, bytes: sessions * claudeBytes, subagentEvery: 0, seed: 5 });
  const mixed = writeMixed(join(work, "mixed"));
  const all = Object.values(mixed);
  const rows: Row[] = [];
  const add = (what: string, measured: readonly Timed[]): Timed => {
    const timed = medianOf(measured);
    rows.push([what, timed, goals[what]]);
    return timed;
  };
  const times = (run: () => Timed): readonly Timed[] => Array.from({ length: runs }, run);
  const measure = (what: string, roots: readonly string[], call: Call, cache?: string): Timed =>
    add(
      what,
      times(() => once(roots, cache ?? freshCache(work), call)),
    );
  // The two calls alternate, so that a change of the machine's load affects both.
  const pairs = Array.from({ length: runs }, () =>
    [[alone], all].map((roots) => once(roots, freshCache(work), "usage")),
  );
  const [own, mix] = ["Claude Code alone", "all"].map((name, at) =>
    add(
      `agents: usage, ${name}, cold`,
      pairs.flatMap((pair) => pair[at] ?? []),
    ),
  );
  /** Adds a row with the ratio of elapsed times and the ratio of processor times. */
  const ratioRow = (what: string, timed: Timed | undefined, roots: readonly string[]): void => {
    const bytes = sizeOf(roots) / sizeOf([alone]);
    const [ms, cpu] = [(timed?.ms ?? 0) / (own?.ms ?? 1), (timed?.cpu ?? 0) / (own?.cpu ?? 1)];
    const goal = what === "all" ? { ms: 1.2 } : undefined;
    rows.push([
      `agents: usage per byte, ${what}, times Claude Code's`,
      { ms: ms / bytes, cpu: cpu / bytes, mb: 0 },
      goal,
    ]);
  };
  ratioRow("all", mix, all);
  for (const [name, root] of Object.entries(mixed))
    if (name !== "claude") ratioRow(name, measure(`agents: usage, ${name}, cold`, [root], "usage"), [root]);
  // The command uses the folder `history` in SKEIN_CACHE_DIR.
  const cache = join(mkdtempSync(join(work, "cache-")), "history");
  measure("agents: list of 10,000, page of 50, cold", all, "list");
  once(all, cache, "list");
  measure("agents: list of 10,000, page of 50", all, "list", cache);
  once(all, cache, "index");
  measure("agents: list of 10,000, page of 50, with the index", all, "list", cache);
  measure("agents: list of all 10,000 sessions in one page, with the index", all, "list-all", cache);
  measure("agents: usage, nothing changed", all, "usage", cache);
  measure("agents: search, with the index", all, "search", cache);
  for (const args of [["list"], ["search", "kaleidoscope"], ["usage"]])
    add(
      `agents: skein history ${args.join(" ")}, whole command`,
      times(() => command(args, all, cache)),
    );
  for (const name of ["list", "usage"])
    add(
      `agents: skein history ${name}, whole command, cold`,
      times(() => command([name], all, join(freshCache(work), "history"))),
    );
  const large = join(work, "opencode-500");
  writeOpencode(join(large, "opencode.db"), 1500, 500_000_000);
  measure("agents: list, opencode's database of 500 MB, cold", [large], "list");
  return rows;
}

/** Returns the measurement with the median processor time. */
function medianOf(measured: readonly Timed[]): Timed {
  const sorted = measured.toSorted((a, b) => a.cpu - b.cpu);
  return sorted[Math.floor(sorted.length / 2)] ?? { ms: 0, mb: 0, cpu: 0 };
}

/**
 * Only the rows of the command have goals for memory, because the command limits V8's uncollected garbage. The memory
 * of other calls depends on this garbage.
 */
const goals: Readonly<Record<string, Row[2]>> = {
  "agents: list of 10,000, page of 50": { ms: 250 },
  "agents: list of all 10,000 sessions in one page, with the index": { ms: 250 },
  "agents: search, with the index": { ms: 100 },
  "agents: list, opencode's database of 500 MB, cold": { ms: 300, mb: 150 },
  "agents: skein history list, whole command": { ms: undefined, mb: 150 },
  "agents: skein history search kaleidoscope, whole command": { ms: undefined, mb: 150 },
  "agents: skein history usage, whole command": { ms: undefined, mb: 150 },
  "agents: skein history list, whole command, cold": { ms: undefined, mb: 150 },
  "agents: skein history usage, whole command, cold": { ms: undefined, mb: 150 },
};

/** Returns an empty folder, so that the next call finds no index. */
function freshCache(work: string): string {
  const folder = join(work, "cold");
  rmSync(folder, { recursive: true, force: true });
  return folder;
}

/** Writes 10,000 sessions of six agents, or `1 / part` of this number. Returns the folder of each agent. */
export function writeMixed(folder: string, part = 1): Readonly<Record<string, string>> {
  const average = bytes / sessions;
  const [many, some, few] = [2500 / part, 2000 / part, 1000 / part];
  const at = (name: string): string => join(folder, name);
  writeCorpus({ folder: at("claude"), files: many, bytes: many * claudeBytes, subagentEvery: 0, seed: 6 });
  writeRollouts(at("codex"), many, average);
  writeOpencode(join(at("opencode"), "opencode.db"), some, some * average);
  writePi(at("pi"), few, average);
  writeGemini(at("gemini"), few, average);
  writeCopilot(at("copilot"), few, average);
  const names = ["claude", "codex", "opencode", "pi", "gemini", "copilot"];
  return Object.fromEntries(names.map((name) => [name, at(name)]));
}

type Call = "usage" | "list" | "list-all" | "search" | "index";

const program = `
import { enableCompileCache } from "node:module";
enableCompileCache();
const { createTitles, withSources, listSessions, getUsage, searchSessions, buildIndex } = await import("@skein/history");
const { peakMegabytes } = await import("./bench/memory.ts");
const [, cacheFolder, call, ...dataPath] = process.argv;
// Kept, as in a long-running process: the server, the console, \`skein mcp\`.
const titles = createTitles();
const work = async () => {
  const needsLines = call === "index" || call === "search";
  const { config } = await withSources({ dataPath, cacheFolder, titles, lines: needsLines ? "all" : "as-needed" });
  if (call === "list") await listSessions(config);
  else if (call === "list-all") await listSessions({ ...config, limit: Infinity });
  else if (call === "usage") await getUsage(config);
  else if (call === "index") await buildIndex(config);
  else await searchSessions("kaleidoscope", config);
};
// In a long-running process, such as a server, a search is warm, so the second one counts.
if (call === "search") await work();
const started = performance.now();
const before = process.cpuUsage();
await work();
const { user, system } = process.cpuUsage(before);
const mb = peakMegabytes();
console.log(JSON.stringify({ ms: performance.now() - started, cpu: (user + system) / 1000, mb }));
`;

/** Makes a call in a separate process. */
function once(roots: readonly string[], cacheFolder: string, call: Call): Timed {
  const flags = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", "--input-type=module", "-e"];
  const result = spawnSync(process.execPath, [...flags, program, cacheFolder, call, ...roots], {
    encoding: "utf8",
    cwd: join(import.meta.dirname, "..", ".."),
  });
  if (result.status !== 0) throw new Error(result.stderr);
  return JSON.parse(result.stdout) as Timed;
}

/**
 * A module that a command loads first. It prints the memory and processor time of the command at its end, because the
 * system may have no program that measures them.
 */
const report = `data:text/javascript,${encodeURIComponent(`
import { writeSync } from "node:fs";
import { peakMegabytes } from ${JSON.stringify(new URL("../memory.ts", import.meta.url).href)};
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  writeSync(2, "\\n" + JSON.stringify({ mb: peakMegabytes(), cpu: (user + system) / 1000 }));
});`)}`;

/** Runs `skein` like a user, in a new Node process. */
function command(args: readonly string[], roots: readonly string[], cache: string): Timed {
  const skein = join(import.meta.dirname, "../../packages/cli/bin/skein.js");
  const flags = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", "--import", report];
  const given = roots.flatMap((root) => ["--root", root]);
  const started = performance.now();
  const result = spawnSync(process.execPath, [...flags, skein, "history", ...args, ...given, "--json"], {
    encoding: "utf8",
    env: { ...process.env, SKEIN_CACHE_DIR: dirname(cache) },
    maxBuffer: 1 << 28,
  });
  const ms = performance.now() - started;
  if (result.status !== 0) throw new Error(result.stderr);
  return { ms, ...(JSON.parse(result.stderr.trim().split("\n").at(-1) ?? "{}") as { mb: number; cpu: number }) };
}

function sizeOf(roots: readonly string[]): number {
  return roots
    .flatMap((root) => readdirSync(root, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
