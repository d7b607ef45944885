/**
 * `npm run check` checks the code without running it. If one check fails, the other checks still run, and the command
 * fails.
 */
import { spawnSync } from "node:child_process";

const bin = (name: string): string => `node_modules/.bin/${name}`;

const checks: readonly (readonly [title: string, command: string, ...args: string[]])[] = [
  ["types of the packages", bin("tsc"), "-b", "--force"],
  ["types of tests and scripts", bin("tsc"), "-p", "tsconfig.tests.json"],
  ["lint", bin("oxlint"), "--type-aware", "--deny-warnings"],
  ["format", bin("oxfmt"), "--check", "."],
  ["dead code", bin("knip")],
  ["house", process.execPath, "scripts/house.ts", "--check"],
];

let failures = 0;
for (const [title, command, ...args] of checks) {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${title} (${seconds} s)`);
  if (status === 0) continue;
  failures += 1;
  console.log(`${stdout}${stderr}`);
}
process.exitCode = failures === 0 ? 0 : 1;
