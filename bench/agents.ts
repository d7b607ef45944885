/**
 * `npm run bench -- agents`: the sessions of other agents beside those of Claude Code, in the same run.
 *
 * Cold means that nothing was translated; warm that everything was. The ratio is processor time per byte beside Claude Code's
 * usage without an index.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeCorpus } from "@skein/history/testing";
import { writeOpencode, writeRollouts } from "./history/agents-corpus.ts";

export const summary = "list, usage and search over Codex, opencode and Claude Code, cold and warm";

const HELP = `npm run bench -- agents [options]

  --megabytes N  how much of Codex and of opencode each (default 100)
  --sessions N   how many sessions of Codex (default 400)
  --json         the results as JSON
`;

interface Figure {
  readonly name: string;
  readonly ms: number;
  readonly cpu: number;
  readonly mb: number;
}

export async function run(args: readonly string[]): Promise<boolean> {
  if (args.includes("--help")) {
    console.log(HELP);
    return true;
  }
  const number = (name: string, usual: number): number => Number(args[args.indexOf(name) + 1] || usual) || usual;
  const bytes = (args.includes("--megabytes") ? number("--megabytes", 100) : 100) * 1e6;
  const sessions = args.includes("--sessions") ? number("--sessions", 400) : 400;
  const work = mkdtempSync(join(tmpdir(), "skein-bench-agents-"));
  try {
    const [claude, codex, opencode] = [join(work, "claude"), join(work, "codex"), join(work, "opencode")];
    writeCorpus({ folder: claude, files: 100, bytes });
    writeRollouts(codex, sessions, bytes / sessions);
    writeOpencode(join(opencode, "opencode.db"), 400, bytes);
    const figures: Figure[] = [];
    const measure = (name: string, roots: readonly string[], cache: string, call: string): Figure => {
      const figure = { name, ...once(roots, cache, call) };
      figures.push(figure);
      return figure;
    };
    const own = measure("usage, Claude Code, cold", [claude], join(work, "c0"), "usage");
    const per = own.cpu / sizeOf(claude);
    for (const [name, root] of [
      ["Codex", codex],
      ["opencode", opencode],
    ] as const) {
      const cache = join(work, `cache-${name}`);
      const cold = measure(`usage, ${name}, cold`, [root], cache, "usage");
      figures.push({
        ...cold,
        name: `  per byte beside Claude Code: ${(cold.cpu / sizeOf(root) / per).toFixed(1)} times`,
      });
      measure(`usage, ${name}, warm`, [root], cache, "usage");
      measure(`list, ${name}, cold`, [root], join(work, `list-${name}`), "list");
      measure(`list, ${name}, warm`, [root], cache, "list");
    }
    const all = [claude, codex, opencode];
    measure("search, all, first", all, join(work, "all"), "search");
    measure("search, all, with the index", all, join(work, "all"), "indexed");
    if (args.includes("--json")) console.log(JSON.stringify(figures));
    else
      for (const { name, ms, cpu, mb } of figures)
        console.log(
          `${name.padEnd(52)} ${ms.toFixed(0).padStart(7)} ms ${cpu.toFixed(0).padStart(7)} cpu ${mb.toFixed(0).padStart(5)} MB`,
        );
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** One call in a process of its own. */
function once(roots: readonly string[], cacheFolder: string, call: string): Omit<Figure, "name"> {
  const program = `
    import { withSources, listSessions, getUsage, searchSessions, buildIndex } from "@skein/history";
    import { peakMegabytes } from "./bench/memory.ts";
    const started = performance.now(); const before = process.cpuUsage();
    const { config } = await withSources({ dataPath: ${JSON.stringify(roots)}, cacheFolder: ${JSON.stringify(cacheFolder)} });
    const call = ${JSON.stringify(call)};
    if (call === "indexed") await buildIndex(config);
    const from = call === "indexed" ? performance.now() : started; const used = call === "indexed" ? process.cpuUsage() : before;
    if (call === "list") await listSessions(config);
    else if (call === "usage") await getUsage(config);
    else await searchSessions("kaleidoscope", config);
    const { user, system } = process.cpuUsage(used);
    console.log(JSON.stringify({ ms: performance.now() - from, cpu: (user + system) / 1000, mb: peakMegabytes() }));`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@skein/source", "--input-type=module", "-e", program],
    {
      encoding: "utf8",
      cwd: join(import.meta.dirname, ".."),
    },
  );
  if (stdout.trim() === "") throw new Error(stderr);
  return JSON.parse(stdout) as Omit<Figure, "name">;
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
