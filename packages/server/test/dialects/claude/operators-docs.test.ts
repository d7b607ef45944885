import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadCode } from "../../../../skein/src/serve/config-file.ts";
import { openPolicy } from "../../../../skein/src/serve/policy.ts";

/**
 * Checks `docs/reference/claude-operators.md`. The example configuration can be loaded, and config.ts has the name of
 * every listed variable.
 */

const page = readFileSync(new URL("../../../../../docs/reference/claude-operators.md", import.meta.url), "utf8");

test("the example of docs/reference/claude-operators.md loads, and allows what the document says", async () => {
  const [, example = ""] = /```ts\n([^`]+)```/.exec(page) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "skein-operators-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "skein.config.ts");
  writeFileSync(file, example);
  expect((await loadCode(file)).claude).toMatchObject({
    roots: ["/srv/projects"],
    folders: { website: { path: "/srv/website", access: "write" }, handbook: { access: "read" } },
    settings: { team: { outputStyle: "Explanatory" }, strict: "/srv/claude/strict.json" },
    mcpServers: { tickets: { type: "stdio" }, wiki: { type: "http" } },
  });
});

test("the example of docs/reference/policy.md is a valid policy", async () => {
  const policy = readFileSync(new URL("../../../../../docs/reference/policy.md", import.meta.url), "utf8");
  const [, example = ""] = /```ts\n([^`]+)```/.exec(policy) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "skein-operators-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "skein.config.ts");
  writeFileSync(file, example);
  const { rules } = openPolicy({ host: "127.0.0.1" }, await loadCode(file), { valid: async () => [] });
  expect(rules.of({ name: "reader", tenant: "acme" })).toMatchObject({ sandbox: "required", tools: [], hosts: [] });
  expect(rules.of({ name: "ci", tenant: "acme" })).toMatchObject({
    hosts: ["packages.example.org"],
    spendPerDayUsd: 20,
  });
});

test("config.ts has the name of every variable in docs/reference/claude-operators.md", () => {
  const config = readFileSync(new URL("../../../../skein/src/config.ts", import.meta.url), "utf8");
  const names = new Set(page.match(/SKEIN_[A-Z_]+/g));
  expect(names.size).toBeGreaterThan(4);
  for (const name of names) expect(config).toContain(`"${name}"`);
});
