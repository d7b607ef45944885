/**
 * The guides for users of other libraries (docs/guides/from). Each Skein program in a guide is a file in examples/from,
 * and the file runs.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeCorpus } from "@skein/history/testing";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const guides = readdirSync(join(root, "docs/guides/from"));
const text = (path: string): string => readFileSync(join(root, path), "utf8");

function run(home: string, ...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, HOME: home, TMPDIR: home, NODE_COMPILE_CACHE };
  const flags = ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning"];
  return spawnSync(process.execPath, [...flags, ...args], { cwd: home, env, encoding: "utf8" });
}

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "skein-from-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

const hasClaudeCode = existsSync(join(root, "node_modules/@anthropic-ai/claude-agent-sdk"));

test.each([
  ["weather", [/Lisbon/, /Porto/]],
  ["invoice", [/^\d+ (?:EUR|USD)$/m]],
  ["approval", [/awaiting_frontend_tools: delete_file \{"path":"old\.txt"\}/, /Deleted old\.txt\./]],
  ...(hasClaudeCode ? ([["claude-code", [/hello/, /event: result\ndata: .*again/]]] as const) : []),
] as const)("the program examples/from/%s.ts does what its guide says", (name, sentences) => {
  const { status, stdout, stderr } = run(newHome(), join(root, `examples/from/${name}.ts`));
  expect(status, stderr).toBe(0);
  for (const sentence of sentences) expect(stdout).toMatch(sentence);
});

test("a guide shows the same code as the program that it names", () => {
  const withCode = guides.filter((guide) => text(`docs/guides/from/${guide}`).includes("```ts\n"));
  expect(withCode.length).toBe(4);
  for (const guide of withCode) {
    const page = text(`docs/guides/from/${guide}`);
    const names = [...page.matchAll(/\[examples\/from\/([\w-]+)\.ts\]/g)].map(([, name]) => name);
    const codes = [...page.matchAll(/```ts\n([\s\S]+?)\n```/g)].map(([, code = "none"]) => code);
    expect(names.length, guide).toBe(codes.length);
    for (const [at, code] of codes.entries()) expect(text(`examples/from/${names[at]}.ts`), guide).toContain(code);
  }
});

test("the program with tools and a typed answer is not longer with Skein than with the AI SDK", () => {
  const page = text("docs/guides/from/ai-sdk.md").split("## With tools and a typed answer")[1] ?? "";
  const lines = (language: string): number => {
    const [, code = ""] = new RegExp(`\`\`\`${language}\\n([\\s\\S]+?)\\n\`\`\``).exec(page) ?? [];
    return code.split("\n").filter((line) => line.trim() !== "").length;
  };
  expect(lines("ts")).toBeGreaterThan(10);
  expect(lines("ts")).toBeLessThanOrEqual(lines("js"));
});

test("every command of Skein that the guide lists as a replacement for ccusage runs", () => {
  const home = newHome();
  writeCorpus({ folder: join(home, ".claude"), files: 3, bytes: 100_000 });
  const page = text("docs/guides/from/ccusage.md");
  const usage = [...page.matchAll(/\| `skein (history usage [^`]+)` \|/g)].map(([, args = ""]) => args.split(" "));
  expect(usage.length).toBe(7);
  const [, question = ""] = /^skein sql "(.+)"$/m.exec(page) ?? [];
  for (const args of [...usage, ["sql", question]]) {
    const { status, stderr } = run(home, join(root, "packages/cli/bin/skein.js"), ...args);
    // There are no sessions of Codex here, so a command that asks for them exits with 3, "not found".
    expect({ args, status }, stderr).toEqual({ args, status: args.includes("codex") ? 3 : 0 });
  }
});
