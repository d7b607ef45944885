import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bin, createWorld } from "./world.ts";

const reading = [
  ["list"],
  ["show", "0"],
  ["search", "parser"],
  ["usage", "--json"],
  ["export", "0"],
  ["files", "0"],
  ["plans"],
  ["todos"],
  ["verify"],
  ["check"],
  ["archive"],
  ["list", "--json"],
] as const;

test("every command that only reads works on a data directory that is mounted read-only", async ({ skip }) => {
  const world = createWorld();
  const mounted = join(world.folder, "mounted");
  mkdirSync(mounted);
  const { status } = spawnSync("mount", ["--bind", "-o", "ro", world.root, mounted]);
  if (status !== 0) return skip("mounting needs root");
  onTestFinished(() => void spawnSync("umount", [mounted]));
  if (spawnSync("touch", [join(mounted, "x")]).status === 0) spawnSync("mount", ["-o", "remount,bind,ro", mounted]);
  expect(spawnSync("touch", [join(mounted, "x")]).status).not.toBe(0);
  for (const [command, ...args] of reading) {
    const { code, err } = await world.run(command, ...args, "--root", mounted);
    expect([command, code, err]).toEqual([command, 0, ""]);
  }
});

test("skein history makes no system call that writes below the data directory", ({ skip }) => {
  if (!existsSync("/usr/bin/strace")) return skip("there is no strace");
  const world = createWorld();
  const log = join(world.folder, "strace");
  for (const args of [["search", "parser"], ["usage"], ["export", "0", "--format", "html"]]) {
    rmSync(log, { force: true });
    const traced = [
      "-f",
      "-qq",
      "-o",
      log,
      "-e",
      "trace=%file,ftruncate,fchmod,fchown",
      process.execPath,
      "--conditions=@skein/source",
      "--disable-warning=ExperimentalWarning",
      bin,
      "history",
      ...args,
      "--root",
      world.root,
    ];
    execFileSync("strace", traced, { env: { ...process.env, ...world.env }, stdio: "pipe" });
    const below = readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => line.includes(`"${world.root}`));
    expect(below.length).toBeGreaterThan(3);
    const writes = below.filter((line) =>
      /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|\b(mkdir|rename|unlink|link|symlink|chmod|chown|truncate|utime|rmdir|mknod)/.test(
        line,
      ),
    );
    expect(writes).toEqual([]);
  }
});
