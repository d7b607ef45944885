import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeSandbox } from "@skein/core/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { openBubblewrap } from "../../src/sandboxes/bubblewrap/index.ts";
import { findProgram } from "../../src/sandboxes/find-program.ts";
import { openNone } from "../../src/sandboxes/none.ts";

const noWalls = "This driver has no walls.";

describeSandbox(
  "none",
  async () => {
    const sandbox = await openNone();
    if (!sandbox) throw new Error("There is no bash on this machine.");
    return sandbox;
  },
  {
    missing: [
      { wall: "files", reason: noWalls },
      { wall: "network", reason: noWalls },
      { wall: "kernelCalls", reason: noWalls },
    ],
  },
);

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

test.skipIf(!hasBubblewrap)("if bubblewrap may not create namespaces, the error says what to do", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-refused-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // Like a container without rights: the real bubblewrap runs inside another one that forbids further namespaces.
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
