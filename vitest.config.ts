import { defineConfig } from "vitest/config";
import { quickTests } from "./scripts/quick-tests.ts";

const quick = [...quickTests(import.meta.dirname)];

export default defineConfig({
  test: {
    // Node imports the sources as they are, as it does for `skein` in a clone: nothing is transformed, and the compile cache
    // that scripts/test.ts names serves the workers and the processes that tests start.
    experimental: { viteModuleRunner: false },
    execArgv: ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning"],
    // Tests wait for conditions, never for time. These limits only end what hangs, also on a machine that is busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    // Files that run in the same worker share what they import: importing the server takes a second of processor time.
    // So a file leaves nothing behind: its servers are closed, and what it changed of the process is as it was.
    isolate: false,
    // Most files wait longer than they compute (four of them: 12 s of processor time in 51 s), so two cores bear three.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        // A worker is not shared by two projects: one after the other, each worker imports everything once for each.
        test: { name: "quick", include: quick, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          name: "real",
          include: [
            "packages/*/test/**/*.test.ts",
            "apps/*/test/**/*.test.ts",
            "scripts/test/**/*.test.ts",
            "examples/test/**/*.test.ts",
          ],
          exclude: ["**/node_modules/**", ...quick],
          globalSetup: ["scripts/test-services.ts"],
        },
      },
    ],
  },
});
