/**
 * `npm run freeze`: bundles the code of the current PostgreSQL store into one file, for the tests in which servers of
 * two versions use one database. Run it before writing a migration.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { MIGRATIONS } from "../packages/adapters/src/stores/postgres/migrations/index.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-freeze-"));
const file = join(folder, "store.mjs");
const config = join(folder, "rolldown.config.mjs");
writeFileSync(
  config,
  `export default {
  input: "packages/adapters/src/stores/postgres/index.ts",
  external: ["pg", /^node:/],
  platform: "node",
  resolve: { conditionNames: ["@skein/source", "import", "default"] },
  output: { file: ${JSON.stringify(file)}, format: "esm", minify: true },
};`,
);
// Rolldown is the bundler that comes with vitest.
execFileSync(process.execPath, ["node_modules/rolldown/bin/cli.mjs", "-c", config], { stdio: "inherit" });
const target = `packages/adapters/test/versions/schema-${MIGRATIONS.at(-1)?.number}.mjs.gz`;
writeFileSync(target, gzipSync(readFileSync(file), { level: 9 }));
rmSync(folder, { recursive: true });
console.log(
  `Wrote ${target}. Name it in packages/adapters/test/versions/version-before.ts. Delete earlier files that no test needs.`,
);
