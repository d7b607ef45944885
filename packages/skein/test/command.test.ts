import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const bin = fileURLToPath(new URL("../bin/skein.js", import.meta.url));

function skein(...args: readonly string[]) {
  return spawnSync(process.execPath, [bin, ...args], { encoding: "utf8" });
}

test("the help names every command and shows examples", () => {
  const { status, stdout } = skein("--help");
  expect(status).toBe(0);
  expect(stdout).toMatch(/Usage: skein <command>/);
  expect(stdout).toMatch(/ {2}serve {2,}\S/);
  expect(stdout).toMatch(/Examples:\n {2}skein serve/);
  expect(skein().stdout).toBe(stdout);
  expect(skein("help").stdout).toBe(stdout);
});

test("--version prints a version and nothing else", () => {
  expect(skein("--version")).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test.each([
  ["an unknown command", ["frobnicate"], /no command "frobnicate"/],
  ["an unknown option", ["serve", "--prot", "1"], /--prot/],
  ["a port over 65535", ["serve", "--port", "65536"], /0 \(a free one\) to 65535/],
])("%s is answered with a sentence and exit code 2", (_, args, sentence) => {
  const { status, stdout, stderr } = skein(...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(sentence);
});
