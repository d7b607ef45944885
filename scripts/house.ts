/**
 * `npm run house`: prints figures about the layout of the code, their goals and the figures of an earlier commit.
 * `--check` enforces the rules.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { table } from "../bench/table.ts";
import { withCommit } from "./house/base-checkout.ts";
import { type StillOpen, checkHouse } from "./house/check-house.ts";
import { MEASURES } from "./house/house-rules.ts";
import { readSourceTree } from "./house/source-tree.ts";
import { readOptions } from "./read-options.ts";

const HELP = `npm run house -- [options]

Prints figures about the layout of the code with their goals, for this checkout and for an earlier commit.

  --base COMMIT   compare with this commit (default: the last commit before the layout was changed)
  --install       also measure the size of the installed library (slow: packs and installs everything)
  --json          the figures as JSON
  --check         only check the rules: prints one line for each problem, and exits with 1 if there is any

Examples:
  npm run house
  npm run house -- --base HEAD~20 --json`;

/** The last commit before the layout of the code was changed. */
const BEFORE = "582fd39";
const MOST_MEGABYTES = 60;

interface Figure {
  readonly what: string;
  /** Null if the figure was not measured. */
  readonly before: number | null;
  readonly now: number;
  readonly goal: number | null;
}

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/u, "");
const { values } = readOptions("house", {
  options: {
    base: { type: "string", default: BEFORE },
    install: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  },
});
if (values.help) console.log(HELP);
else if (values.check) check();
else print(figures());

function check(): void {
  const open = JSON.parse(readFileSync(join(root, "scripts/house/still-open.json"), "utf8")) as StillOpen;
  const { failures, mended } = checkHouse(readSourceTree(root), open);
  for (const line of [...failures, ...mended]) console.log(line);
  if (failures.length > 0) process.exitCode = 1;
}

function figures(): readonly Figure[] {
  const now = readSourceTree(root);
  const before = withCommit(root, values.base, (folder) => {
    const tree = readSourceTree(folder);
    return MEASURES.map(({ count }) => count(tree));
  });
  if (!before) console.error(`Commit ${values.base} is not in this clone, so there are no figures from before.`);
  const counted = MEASURES.map(({ what, goal, count }, index) => ({
    what,
    before: before?.[index] ?? null,
    now: count(now),
    goal,
  }));
  return values.install ? [...counted, install()] : counted;
}

/** Runs a script that installs the library in a temporary folder and prints the megabytes as JSON. */
function install(): Figure {
  const script = join(root, "scripts/measure/library-install.ts");
  if (!existsSync(script)) throw new Error(`${script} does not exist, so the install cannot be measured.`);
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, "--json"], { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`The install could not be measured: ${stderr}`);
  const { megabytes } = JSON.parse(stdout) as { megabytes: number };
  return { what: "install of a library user, MB", before: null, now: megabytes, goal: MOST_MEGABYTES };
}

function print(found: readonly Figure[]): void {
  if (values.json) {
    console.log(JSON.stringify(found));
    return;
  }
  const cell = (value: number | null): string => (value === null ? "" : value.toLocaleString("en"));
  const rows = found.map(({ what, before, now, goal }) => [
    what,
    cell(before),
    cell(now),
    goal === null ? "" : goal === 0 ? "0" : `≤ ${goal}`,
    goal === null ? "" : now <= goal ? "ok" : "MISSED",
  ]);
  console.log(table(["", `at ${values.base.slice(0, 10)}`, "now", "goal", ""], rows));
}
