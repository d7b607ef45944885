import { defineConfig } from "vitest/config";
import { quickTests } from "./scripts/quick-tests.ts";

const quick = [...quickTests(import.meta.dirname)];

export default defineConfig({
  resolve: { conditions: ["@skein/source"] },
  ssr: { resolve: { conditions: ["@skein/source"] } },
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    // Most files wait longer than they compute (four of them: 12 s of processor time in 51 s), so two cores bear three.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        // Without processes and servers nothing is left behind for the next file, so that files share what they import.
        test: { name: "quick", include: quick, isolate: false },
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
