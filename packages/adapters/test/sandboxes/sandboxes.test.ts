import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Sandbox, SandboxLimits } from "@skein/core";
import { describeSandbox } from "@skein/core/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { openBubblewrap } from "../../src/sandboxes/bubblewrap/index.ts";
import { findProgram } from "../../src/sandboxes/find-program.ts";
import { openNone } from "../../src/sandboxes/none.ts";

const noWalls = "This sandbox has no walls.";

describeSandbox(
  "none",
  async () => {
    const opened = await openNone();
    if ("problem" in opened) throw new Error(opened.problem);
    return opened.sandbox;
  },
  {
    missing: [
      { wall: "files", reason: noWalls },
      { wall: "network", reason: noWalls },
      { wall: "kernelCalls", reason: noWalls },
    ],
  },
);

test("without a sandbox, the problem says whether bash is missing or the guard does not work", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-broken-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const setpriv = join(folder, "setpriv");
  writeFileSync(setpriv, "#!/bin/sh\necho setpriv is broken >&2\nexit 1\n", { mode: 0o700 });
  expect(await openNone((name) => (name === "bash" ? undefined : findProgram(name)))).toEqual({
    problem: "The script that watches the processes of Claude Code needs bash. Install bash.",
  });
  expect(await openNone((name) => (name === "setpriv" ? setpriv : findProgram(name)))).toEqual({
    problem: "The script that watches the processes of Claude Code does not work on this machine: setpriv is broken",
  });
});

/** Whether bubblewrap works on this machine. If it does, a sandbox that does not work fails the tests. */
const hasBubblewrap =
  spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]).status === 0;

describe.skipIf(!hasBubblewrap)("with bubblewrap", () => {
  describeSandbox("bubblewrap", async () => {
    const opened = await openBubblewrap();
    if ("problem" in opened) throw new Error(opened.problem);
    return opened.sandbox;
  });
});

/** Runs a script in a new sandbox, and returns its output. */
async function printed(sandbox: Sandbox, script: string, limits: SandboxLimits = {}): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), "skein-printed-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const { stdout } = sandbox.start({
    command: "/bin/bash",
    args: ["-c", script],
    cwd,
    env: { PATH: "/usr/bin:/bin" },
    places: [{ path: cwd, access: "write" }],
    limits,
  });
  return (await text(stdout)).replaceAll(cwd, "CWD");
}

async function bubblewrap(arch?: string): Promise<Sandbox> {
  const opened = await openBubblewrap(findProgram, arch);
  if ("problem" in opened) throw new Error(opened.problem);
  return opened.sandbox;
}

test.skipIf(!hasBubblewrap)("a program in bubblewrap has no capabilities, and cannot raise its limits", async () => {
  const script = `grep -h ^Cap /proc/self/status /proc/1/status | sort -u | tr -d '\\n'; echo; ulimit -Ht; ulimit -Hu; ulimit -Hc; ulimit -Hf; ulimit -Hd`;
  const limits = { cpuSeconds: 20, processes: 30, fileBytes: 2 ** 20, memoryBytes: 2 ** 30 };
  const [capabilities = "", ...limited] = (await printed(await bubblewrap(), script, limits)).split("\n");
  expect(capabilities.replaceAll(/\s/g, "")).toMatch(/^(Cap\w{3}:0{16}){5}$/);
  // In the order of the script: CPU seconds (5 more than the limit), tasks, core files, file size and memory in KiB.
  expect(limited).toEqual(["25", String(4 * 30 + 64), "0", "1024", "1048576", ""]);
});

test.skipIf(!hasBubblewrap)("bubblewrap mounts only the given places, and the system without its secrets", async () => {
  const points = (await printed(await bubblewrap(), "cut -d' ' -f5 /proc/self/mountinfo")).trim().split("\n");
  const known =
    /^(\/|\/(usr|bin|sbin|lib|lib32|lib64|tmp|proc|dev|nix\/store|run\/current-system)|\/proc\/(sys|sysrq-trigger|irq|bus)|\/dev\/(null|zero|full|random|urandom|tty|pts|shm|console)|\/etc\/(ssl\/certs|ca-certificates|pki|alternatives|ld\.so\.cache|localtime|timezone|locale\.conf|mime\.types|passwd|group|hosts)|CWD)$/;
  expect(points.filter((point) => !known.test(point))).toEqual([]);
  expect(points).toContain("CWD");
});

test.skipIf(!hasBubblewrap)(
  "without a filter of kernel calls, bubblewrap itself refuses further namespaces",
  async () => {
    const sandbox = await bubblewrap("riscv64");
    expect(sandbox.walls).toMatchObject({
      kernelCalls: false,
      summary: expect.stringContaining("has no filter for riscv64") as string,
    });
    expect(
      await printed(sandbox, "unshare -U true 2>&1 || echo refused; bwrap --ro-bind / / true 2>&1 || echo refused"),
    ).toMatch(/refused\n(.*\n)*.*refused\n$/);
  },
);

test.skipIf(!hasBubblewrap)("if bubblewrap may not create namespaces, the error says what to do", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-refused-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // This simulates a container without rights. The real bubblewrap runs inside a second bubblewrap that forbids further
  // namespaces.
  const refused = join(folder, "bwrap");
  const real = String(findProgram("bwrap"));
  writeFileSync(refused, `#!/bin/sh\nexec ${real} --unshare-user --disable-userns --dev-bind / / -- ${real} "$@"\n`, {
    mode: 0o755,
  });
  expect(await openBubblewrap((name) => (name === "bwrap" ? refused : findProgram(name)))).toEqual({
    problem: expect.stringMatching(
      /^The sandbox cannot be started: this system does not allow user namespaces\. Set user\.max_user_namespaces .* It said: bwrap: /,
    ) as string,
  });
});

test("without bubblewrap, bash or setpriv the error says what to install", async () => {
  const opened = async (missing: string) =>
    openBubblewrap((name) => (name === missing ? undefined : (findProgram(name) ?? `/usr/bin/${name}`)));
  expect(await opened("bwrap")).toMatchObject({
    problem: expect.stringContaining("apt-get install bubblewrap") as string,
  });
  expect(await opened("bash")).toMatchObject({ problem: expect.stringContaining("needs bash") as string });
  expect(await opened("setpriv")).toMatchObject({ problem: expect.stringContaining("needs setpriv") as string });
});
