import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function start(...args: readonly string[]): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, ["--conditions=@skein/source", main, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line.toString())?.[0] ?? "";
  expect((await fetch(`${url}/api/hello`)).status).toBe(200);
  return { child, url };
}

test.each([
  ["SIGTERM", []],
  ["SIGINT", []],
  ["SIGTERM", ["--until-stdin-closes"]],
] as const)("the simulator prints where it listens, and runs until %s (%s)", async (signal, args) => {
  const { child } = await start(...args);
  child.kill(signal);
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("with --until-stdin-closes, the simulator ends when the pipe to its parent closes", async () => {
  const { child } = await start("--until-stdin-closes");
  child.stdin?.end();
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("without --until-stdin-closes, the simulator continues when the pipe to its parent closes", async () => {
  const { child, url } = await start();
  child.stdin?.end();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect((await fetch(`${url}/api/hello`)).status).toBe(200);
});
