import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";

const bin = fileURLToPath(new URL("../bin/skein.js", import.meta.url));

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

function skein(...args: readonly string[]) {
  return spawnSync(process.execPath, [bin, ...args], { encoding: "utf8" });
}

/** Starts `skein start` and answers when it says where it listens. */
async function started(...args: readonly string[]): Promise<{ child: ChildProcess; text: string; url: string }> {
  const child = spawn(process.execPath, [bin, "start", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes("Ctrl-C")) break;
  }
  return { child, text, url: /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? "" };
}

test("the help names every command and shows examples", () => {
  const { status, stdout } = skein("--help");
  expect(status).toBe(0);
  expect(stdout).toMatch(/Usage: skein <command>/);
  expect(stdout).toMatch(/ {2}start {2,}\S/);
  expect(stdout).toMatch(/Examples:\n {2}skein start/);
  expect(skein().stdout).toBe(stdout);
  expect(skein("help").stdout).toBe(stdout);
});

test("--version prints a version and nothing else", () => {
  expect(skein("--version")).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test.each([
  ["an unknown command", ["frobnicate"], /no command "frobnicate"/],
  ["an unknown option", ["start", "--prot", "1"], /--prot/],
  ["a port that is none", ["start", "--port", "http"], /--port N/],
  ["a port over 65535", ["start", "--port", "65536"], /--port N/],
  ["a word too much", ["start", "now"], /Expected/],
])("%s is answered with a sentence and exit code 2", (_, args, sentence) => {
  const { status, stdout, stderr } = skein(...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(sentence);
});

test.each(["SIGINT", "SIGTERM"] as const)("start answers its own curl line and ends cleanly on %s", async (signal) => {
  const { child, text, url } = await started("--port", "0");
  expect(text).toMatch(/simulation/);
  expect(text).toMatch(/not here yet/);
  const body = /-d '(.+)'/.exec(text)?.[1] ?? "";
  const headers = Object.fromEntries(
    [...text.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, key, value]) => [key, value]),
  );
  const response = await fetch(`${url}/v1/messages`, {
    method: "POST",
    headers: headers as Record<string, string>,
    body,
  });
  expect(await response.json()).toMatchObject({ type: "message", role: "assistant" });
  child.kill(signal);
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("a taken port is a sentence and exit code 1", async () => {
  const { url } = await started("--port", "0");
  const { status, stderr } = skein("start", "--port", new URL(url).port);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^Port \d+ of 127\.0\.0\.1 is taken\./);
});
