/**
 * `npm run attack` runs the tests that attack a server, and prints a table with the result of each attack. Nothing is
 * sent beyond loopback.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AttackReport, attackTable } from "./attack/attack-table.ts";
import { FILES } from "./attack/attacks.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-attack-"));
const report = join(folder, "report.json");
const began = Date.now();
// These tests mostly wait for time limits and processes. With eight files at a time, two cores are only half busy.
const workers = "--maxWorkers=8";
const { status } = spawnSync(process.execPath, ["scripts/test.ts", ...FILES, workers, ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { ...process.env, SKEIN_TEST_REPORT: report },
});
process.exitCode = status ?? 1;
if (existsSync(report)) {
  const { text, isHeld } = attackTable(JSON.parse(readFileSync(report, "utf8")) as AttackReport);
  console.log(`\n${text} ${Math.round((Date.now() - began) / 1000)} s of elapsed time.`);
  if (!isHeld) process.exitCode = status || 1;
}
rmSync(folder, { recursive: true, force: true });
