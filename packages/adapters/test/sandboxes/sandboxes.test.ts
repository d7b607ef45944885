import { spawnSync } from "node:child_process";
import { describeSandbox } from "@skein/core/testing";
import { describe, expect, test } from "vitest";
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

/** Whether bubblewrap works on this machine at all. If it does, a sandbox that does not work fails the tests. */
const hasBubblewrap =
  spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]).status === 0;

describe.skipIf(!hasBubblewrap)("with bubblewrap", () => {
  describeSandbox("bubblewrap", async () => {
    const opened = await openBubblewrap();
    if ("problem" in opened) throw new Error(opened.problem);
    return opened.sandbox;
  });
});

test("without bubblewrap, bash or setpriv there is a sentence that says what to install", async () => {
  const opened = async (missing: string) =>
    openBubblewrap((name) => (name === missing ? undefined : (findProgram(name) ?? `/usr/bin/${name}`)));
  expect(await opened("bwrap")).toMatchObject({
    problem: expect.stringContaining("apt-get install bubblewrap") as string,
  });
  expect(await opened("bash")).toMatchObject({ problem: expect.stringContaining("needs bash") as string });
  expect(await opened("setpriv")).toMatchObject({ problem: expect.stringContaining("needs setpriv") as string });
});
