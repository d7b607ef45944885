/** `npm run bench -- NAME --against COMMIT`: runs a benchmark alternately in this checkout and at an earlier commit. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { figure } from "../store/results.ts";
import { table } from "../table.ts";
import { type Line, linesOf } from "./bench-output.ts";
import { checkOut } from "./earlier-checkout.ts";
import { type Compared, type Round, compare } from "./ratios.ts";

export const HELP = `npm run bench -- NAME --against COMMIT [--rounds N] [--limit N] [options of the benchmark]

Runs a benchmark in this checkout and at an earlier commit, by turns, each with its own \`npm run bench\`, and prints for
each line the median of the rounds' ratios: how many times slower this checkout is. Ends with 1 if a line is above the limit.

  --against COMMIT   compare with this commit
  --rounds N         how often both are run (default: 9)
  --limit N          the highest ratio that passes (default: 1.1)
  --json             the ratios as JSON

For \`history\`, name a folder: without a folder, each commit makes a corpus of its own.

Examples:
  npm run bench -- loop --against HEAD~5 --part turn --quick
  npm run bench -- history ~/.claude --against v1.0 --alone --rounds 5`;

const HERE = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Returns whether the ratio of every result line is within the limit. Throws if the two commits have no result line in
 * common. `root` is the checkout that is compared with the commit.
 */
export async function runAgainst(name: string, args: readonly string[], root: string = HERE): Promise<boolean> {
  const { against, rounds, limit, json, rest } = parsed(args);
  const { folder, remove } = checkOut(root, against);
  const stop = new AbortController();
  const interrupt = (): void => stop.abort(new Error("Interrupted. The checkout of the earlier commit was removed."));
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  try {
    const done: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`round ${round + 1} of ${rounds} …\n`);
      const measure = (where: string): Promise<readonly Line[]> => measured(where, [name, ...rest], stop.signal);
      // The checkouts alternate in running first, so that the order affects both equally.
      const isEarlierFirst = round % 2 === 0;
      const first = await measure(isEarlierFirst ? folder : root);
      const second = await measure(isEarlierFirst ? root : folder);
      done.push(isEarlierFirst ? { earlier: first, now: second } : { earlier: second, now: first });
    }
    const compared = compare(done);
    if (compared.length === 0)
      throw new Error(
        `No line of the benchmark has a figure both here and at ${against}, so nothing was compared. Choose a later commit.`,
      );
    console.log(json ? JSON.stringify(compared) : printed(compared, against, limit));
    return compared.every(({ ratio }) => ratio <= limit);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
    remove();
  }
}

function parsed(args: readonly string[]) {
  const own = ["against", "rounds", "limit"] as const;
  // Reads only the options of this command. All other options are passed to the benchmark.
  const { tokens } = parseArgs({
    args: [...args],
    options: { against: { type: "string" }, rounds: { type: "string" }, limit: { type: "string" } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values: Partial<Record<(typeof own)[number], string>> = {};
  const taken = new Set<number>();
  for (const token of tokens) {
    const name = token.kind === "option" ? own.find((option) => option === token.name) : undefined;
    if (token.kind !== "option" || name === undefined) continue;
    if (token.value === undefined) throw new Error(`--${name} needs a value.`);
    values[name] = token.value;
    taken.add(token.index);
    if (!token.inlineValue) taken.add(token.index + 1);
  }
  const rounds = Number(values.rounds ?? 9);
  const limit = Number(values.limit ?? 1.1);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds needs a whole number from 1.");
  if (!(limit > 0)) throw new Error("--limit needs a number above 0.");
  const rest = args.filter((arg, index) => !taken.has(index) && arg !== "--json");
  return { against: values.against ?? "", rounds, limit, json: args.includes("--json"), rest };
}

async function measured(folder: string, args: readonly string[], signal: AbortSignal): Promise<readonly Line[]> {
  signal.throwIfAborted();
  const child = spawn("npm", ["run", "--silent", "bench", "--", ...args, "--json"], {
    cwd: folder,
    // The outer npm sets variables that the inner npm would read as settings.
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^INIT_CWD$/u.test(name))),
    stdio: ["ignore", "pipe", "inherit"],
    signal,
    killSignal: "SIGTERM",
  });
  // Waits for output and exit together, because an interrupt rejects the exit first, and this rejection must be
  // handled.
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const lines = linesOf(output);
  // A missed goal also gives the exit code 1, so only an empty output means a failure.
  if (lines.length === 0) throw new Error(`npm run bench -- ${args.join(" ")} measured nothing in ${folder}.`);
  return lines;
}

function printed(compared: readonly Compared[], commit: string, limit: number): string {
  const rows = compared.map(({ what, store, unit, earlier, now, ratio, lowest, highest }) => [
    what,
    store,
    `${figure(earlier)} ${unit}`,
    `${figure(now)} ${unit}`,
    ratio.toFixed(2),
    `${lowest.toFixed(2)} to ${highest.toFixed(2)}`,
    ratio <= limit ? "ok" : "SLOWER",
  ]);
  const headers = ["what", "store", commit.slice(0, 12), "here", "ratio", "of all rounds", `≤ ${limit.toFixed(2)}`];
  return table(headers, rows);
}
