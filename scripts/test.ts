/**
 * `npm test`: runs every test with real services. The last line of the output is `N passed, N failed`.
 *
 * Arguments go to vitest, so `npm test -- packages/core` runs one package; `--quick` runs the tests that start no
 * process, no server and no DuckDB. In a run of all tests, failed files are run again alone, because a time limit may
 * fail a test on a busy machine. A test that passes only when it is alone is reported, because it depends on timing.
 *
 * The temporary files of a run are in a folder that is removed at the end. If a test has left files in the folder, the
 * output names them: outside `npm test` they would stay in the machine's temporary directory.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: "passed" | "failed";
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Node stores compiled code in this folder, because the tests start many processes with the same sources. */
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "../node_modules/.cache/skein-test-compile");

/** If more files than this fail, a busy machine is not the cause. */
const MOST_AGAIN = 4;

const folder = mkdtempSync(join(tmpdir(), "st-"));
// The folder gets the permissions of `/tmp`, because some tests start programs as another user.
chmodSync(folder, 0o1777);
process.env["TMPDIR"] = folder;
const REPORT = "report.json";

// Ctrl-C also ends vitest. This process ignores the signal, waits for the end of vitest, and then cleans up.
process.on("SIGINT", () => {});

try {
  const wanted = process.argv.slice(2).filter((arg) => arg !== "--quick");
  // vitest.config.ts reads this variable.
  const isQuick = process.argv.includes("--quick");
  if (isQuick) process.env["SKEIN_TEST_QUICK"] = "1";
  const first = await vitest(wanted);
  const broken = first.report.testResults.filter(({ status }) => status === "failed");
  const again =
    wanted.length === 0 && !isQuick && broken.length > 0 && broken.length <= MOST_AGAIN
      ? await vitest(["--maxWorkers=1", ...broken.map(({ name }) => name)])
      : undefined;

  if (again)
    for (const name of failures(first.report)) console.log(`Failed at first, and was tried once more, alone: ${name}`);
  const passed = first.report.numPassedTests + (again ? again.report.numPassedTests - passedIn(broken) : 0);
  const last = again ?? first;
  const left = readdirSync(folder).filter((name) => name !== REPORT);
  // The files are removed with the folder. They are printed, because each test should remove its files.
  if (left.length > 0) console.log(`Tests left these in their temporary directory: ${left.join(", ")}`);
  // If a file cannot be loaded, vitest counts no failed test. The summary must still say that something failed.
  const failed = last.report.numFailedTests || (last.status === 0 ? 0 : 1);
  const skipped = first.report.numPendingTests > 0 ? `, ${first.report.numPendingTests} skipped` : "";
  console.log(`\n${passed} passed, ${failed} failed${skipped}`);
  const kept = process.env["SKEIN_TEST_REPORT"];
  if (kept !== undefined) writeFileSync(kept, JSON.stringify(first.report));
  process.exitCode = failed > 0 ? last.status || 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function vitest(args: readonly string[]): Promise<{ readonly status: number; readonly report: Report }> {
  const file = join(folder, REPORT);
  const options = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...options, ...args], {
    stdio: "inherit",
  });
  const stop = (): void => void child.kill();
  process.once("SIGTERM", stop);
  const [code] = (await once(child, "exit")) as [number | null];
  process.off("SIGTERM", stop);
  return { status: code ?? 1, report: JSON.parse(readFileSync(file, "utf8")) as Report };
}

function passedIn(files: Report["testResults"]): number {
  return files.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === "passed").length;
}

function failures({ testResults }: Report): readonly string[] {
  return testResults
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === "failed");
      return failed.length > 0 ? failed.map(({ fullName }) => fullName) : [name];
    });
}
