import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { watchLimits } from "../../src/sandboxes/watch-limits.ts";

const MIB = 1024 * 1024;
const TOO_LARGE = /^its folders had more than 4 MiB on disk/;

/**
 * Returns why a program in a folder was ended, or undefined if it ended normally. The limit for its folders is 4 MiB.
 */
async function watched(
  script: string,
  { before = 0, isNamed = false }: { readonly before?: number; readonly isNamed?: boolean } = {},
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "skein-watched-"));
  const path = join(folder, "work");
  mkdirSync(path);
  writeFileSync(join(path, "before"), Buffer.alloc(before, 1));
  const program = spawn("/bin/bash", ["-c", script], { cwd: path, stdio: "ignore" });
  const ended = Promise.withResolvers<string | undefined>();
  const limits = { folderBytes: 4 * MIB };
  const stop = watchLimits(program.pid ?? 0, { limits, folders: [{ path, isNamed }] }, ended.resolve);
  program.once("exit", () => ended.resolve(undefined));
  try {
    return await ended.promise;
  } finally {
    stop();
    program.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

describe.runIf(process.platform === "linux").concurrent("the size of folders", () => {
  test.each([
    ["in files", "head -c 8M /dev/zero > file; read < <(sleep 60)"],
    ["with the entries of empty files", "for i in {1..1100}; do : > $i; done; read < <(sleep 60)"],
    [
      "in files that are deleted while a program has them open",
      "exec 5> file; rm file; head -c 8M /dev/zero >&5; read < <(sleep 60)",
    ],
  ])("a program that takes too much room on disk %s is ended", async (_, script) => {
    expect(await watched(script)).toMatch(TOO_LARGE);
  });

  test("a program is ended if it makes a path that is too long to measure", async () => {
    const script =
      "name=$(printf a%.0s {1..250}); for i in {1..20}; do mkdir $name; cd -P $name; done; read < <(sleep 60)";
    expect(await watched(script)).toMatch(/^its folders had a path that is too long/);
  });

  test("a folder of the operator that is above the limit may grow by the limit, and a folder of a session must stay below the limit", async () => {
    const grow = "head -c 1M /dev/zero > file; sleep 1.5";
    expect(await watched(grow, { before: 6 * MIB, isNamed: true })).toBeUndefined();
    expect(await watched(grow, { before: 6 * MIB })).toMatch(TOO_LARGE);
  });
});
