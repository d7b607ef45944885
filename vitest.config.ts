import { defineConfig } from "vitest/config";
import { PATIENCE_MS } from "./scripts/patience.ts";
import { LongFirst } from "./scripts/test-order.ts";
import { quickTests } from "./scripts/quick-tests.ts";

const EVERYTHING = [
  "packages/*/test/**/*.test.ts",
  "apps/*/test/**/*.test.ts",
  "scripts/test/**/*.test.ts",
  "examples/test/**/*.test.ts",
];

/** True for `npm test -- --quick`. */
const isQuick = process.env["SKEIN_TEST_QUICK"] === "1";

export default defineConfig({
  test: {
    include: isQuick ? [...quickTests(import.meta.dirname)] : EVERYTHING,
    exclude: ["**/node_modules/**"],
    globalSetup: isQuick ? [] : ["scripts/test-services.ts"],
    setupFiles: ["scripts/test-exit.ts"],
    // Node imports the sources as they are, as it does for `skein` in a clone. Nothing is transformed, so the compile
    // cache of scripts/test.ts works for the workers and for the processes that tests start.
    experimental: { viteModuleRunner: false },
    execArgv: ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning"],
    // Tests wait for conditions, never for time. These limits only end tests that hang, also on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: PATIENCE_MS } },
    pool: "forks",
    // Files that run in the same worker share what they import: importing the server takes a second of processor time.
    // So a file leaves nothing behind: its servers are closed, and its changes to the process are undone.
    isolate: false,
    // Most files wait longer than they compute: four measured files used 12 s of processor time in 51 s. So five files
    // run at once on two cores.
    maxWorkers: 5,
    sequence: { sequencer: LongFirst },
  },
});
