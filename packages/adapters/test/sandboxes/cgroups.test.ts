import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasBubblewrap } from "../../../sql/test/bubblewrap.ts";
import { openBubblewrap } from "../../src/sandboxes/bubblewrap/index.ts";
import { findParents, openCgroups } from "../../src/sandboxes/cgroups.ts";

const V1 = `
30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct
31 25 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory
32 25 0:28 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids
33 25 0:29 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw`;
const V2 = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot";
const IN_A_CONTAINER = "30 25 0:26 /docker/abc /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw";

test.each([
  [
    "version 1",
    V1,
    "5:memory:/jobs/a\n4:pids:/\n3:cpu,cpuacct:/user\n0::/",
    [1, "/sys/fs/cgroup/memory/jobs/a", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu,cpuacct/user"],
  ],
  ["version 2", V2, "0::/system.slice/skein.service", [2, "/sys/fs/cgroup/system.slice/skein.service"]],
  ["version 2 in a container", IN_A_CONTAINER, "0::/docker/abc", [2, "/sys/fs/cgroup"]],
])("the groups of this process in %s", (_, mountinfo, memberships, expected) => {
  const found = findParents(mountinfo, memberships);
  if ("problem" in found) throw new Error(found.problem);
  const places = [...new Set(Object.values(found.parents).map((place) => place.replace(/(?!^)\/$/, "")))];
  expect([found.version, ...places]).toEqual(expected);
});

test("a system without control groups is said to have none", () => {
  expect(findParents("", "")).toEqual({ problem: "there are no cgroups here" });
  expect(openCgroups("/no/such/proc")).toEqual({ problem: "cgroups cannot be used here (ENOENT)" });
});

const opened = openCgroups();
describe.skipIf("problem" in opened)("control groups of this machine", () => {
  test("a group is made for a sandbox and removed with it", () => {
    if ("problem" in opened) throw new Error(opened.problem);
    const group = opened.create({ totalMemoryBytes: 64 * 1024 ** 2, processes: 10 });
    expect(group.joins.length).toBeGreaterThan(0);
    expect(group.joins.every((file) => existsSync(file))).toBe(true);
    expect(group.exceeded()).toBeUndefined();
    group.remove();
    expect(group.joins.map((file) => dirname(file)).filter((folder) => existsSync(folder))).toEqual([]);
  });

  test.skipIf(!hasBubblewrap)(
    "memory that a program has for less than a second is limited too, with a sentence",
    async () => {
      const found = await openBubblewrap();
      if ("problem" in found) throw new Error(found.problem);
      const cwd = mkdtempSync(join(tmpdir(), "skein-burst-"));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const burst = found.sandbox.start({
        command: "/bin/bash",
        // tail keeps all of it until the end.
        args: ["-c", "head -c 120000000 /dev/zero | tail -c 120000000 | wc -c"],
        cwd,
        env: { PATH: "/usr/bin:/bin" },
        places: [{ path: cwd, access: "write" }],
        limits: { totalMemoryBytes: 40 * 1024 ** 2 },
      });
      expect(await burst.ended).toMatchObject({
        limit: "its processes used more than 40 MiB of memory, which is all that they may use",
      });
    },
  );
});
