import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { EXPECTED_OUTPUT } from "./expected-output.ts";

const folder = fileURLToPath(new URL("../", import.meta.url));

const examples = readdirSync(folder)
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.slice(0, -3));

test.each(examples)("%s runs unchanged, without an API key", (name) => {
  const args = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", `${folder}${name}.ts`];
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const home = mkdtempSync(join(tmpdir(), "skein-example-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { PATH, HOME: home, TMPDIR: home, NODE_COMPILE_CACHE };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  // Each process says once that its answers are simulated.
  const others = stderr.split("\n").filter((line) => !line.startsWith("No ANTHROPIC_API_KEY is set"));
  expect({ status, others }).toEqual({ status: 0, others: [""] });
  expect(EXPECTED_OUTPUT[name], `EXPECTED_OUTPUT has no sentences for examples/${name}.ts`).toBeDefined();
  for (const sentence of EXPECTED_OUTPUT[name] ?? []) expect(stdout).toMatch(sentence);
});

test.each(examples)("%s fits on a screen", (name) => {
  expect(readFileSync(`${folder}${name}.ts`, "utf8").trim().split("\n").length).toBeLessThanOrEqual(40);
});

test("docs/guides/agents.md shows the same code as the examples", () => {
  const page = readFileSync(`${folder}../docs/guides/agents.md`, "utf8");
  const sources = examples.map((name) => readFileSync(`${folder}${name}.ts`, "utf8"));
  const snippets = [...page.matchAll(/```ts\n([\s\S]+?)\n```/g)].map(([, code = ""]) => code);
  expect(snippets.length).toBeGreaterThan(3);
  for (const code of snippets) expect(sources.some((source) => source.includes(code))).toBe(true);
});
