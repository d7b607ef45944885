/**
 * `npm test`: every test, on real parts, with a closing line `N passed, N failed` alone on its line.
 *
 * Arguments go to vitest, so `npm test -- packages/core` runs one package.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numFailedTestSuites: number;
}

const folder = mkdtempSync(join(tmpdir(), "skein-test-"));
try {
  const reportFile = join(folder, "report.json");
  const run = spawnSync(
    process.execPath,
    [
      "node_modules/vitest/vitest.mjs",
      "run",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${reportFile}`,
      ...process.argv.slice(2),
    ],
    { stdio: "inherit" },
  );
  const report = JSON.parse(readFileSync(reportFile, "utf8")) as Report;
  // A file that fails to load counts no test of its own; without this it would read as "0 failed".
  const failed = report.numFailedTests || (run.status === 0 ? 0 : 1);
  const skipped = report.numPendingTests > 0 ? `, ${report.numPendingTests} skipped` : "";
  console.log(`\n${report.numPassedTests} passed, ${failed} failed${skipped}`);
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
