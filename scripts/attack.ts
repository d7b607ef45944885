/** `npm run attack`: every attack on the walls of a server, as tests. Nothing is sent beyond loopback. */
import { spawnSync } from "node:child_process";

const FILES = [
  "packages/server/test/attacks",
  "packages/core/test/secrets",
  "packages/adapters/test/sandboxes",
  "packages/adapters/test/foreign-addresses",
  "packages/adapters/test/claude-code/walls.test.ts",
  "packages/adapters/test/claude-code/hostile-child.test.ts",
  "packages/server/test/dialects/claude/walls.test.ts",
  "packages/server/test/dialects/claude/security.test.ts",
  "packages/server/test/dialects/claude/rights.test.ts",
  "packages/server/test/dialects/platform/keys.test.ts",
  "packages/server/test/policy.test.ts",
  "packages/server/test/security.test.ts",
  "packages/server/test/sealed-secrets.test.ts",
  "packages/server/test/sql-hostile.test.ts",
];

const { status } = spawnSync(process.execPath, ["scripts/test.ts", ...FILES, ...process.argv.slice(2)], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
