import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
])("the folders of this process's control groups are found: %s", (_, mountinfo, memberships, expected) => {
  const found = findParents(mountinfo, memberships);
  if ("problem" in found) throw new Error(found.problem);
  const places = [...new Set(Object.values(found.parents).map((place) => place.replace(/(?!^)\/$/, "")))];
  expect([found.version, ...places]).toEqual(expected);
});

test("a system without control groups is reported", () => {
  expect(findParents("", "")).toEqual({ problem: "this system has no cgroups" });
  expect(openCgroups("/no/such/proc")).toEqual({ problem: "cgroups cannot be used here (ENOENT)" });
});

/**
 * Plain files replace the files of the kernel. The test checks what is written, but not whether the kernel accepts it.
 */
test("in cgroups version 2 the server moves into a separate group, and each sandbox gets its limits", () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-cgroup2-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const group = join(folder, "tree", "skein.service");
  mkdirSync(group, { recursive: true });
  writeFileSync(join(group, "cgroup.procs"), `${process.pid}\n`);
  writeFileSync(join(folder, "mountinfo"), `30 25 0:26 / ${join(folder, "tree")} rw,nosuid - cgroup2 cgroup2 rw\n`);
  writeFileSync(join(folder, "cgroup"), "0::/skein.service\n");
  const found = openCgroups(folder);
  if ("problem" in found) throw new Error(found.problem);
  const read = (...path: string[]): string => readFileSync(join(group, ...path), "utf8");
  expect(found.version).toBe(2);
  expect(read("skein-server", "cgroup.procs")).toBe(String(process.pid));
  expect(read("cgroup.subtree_control")).toBe("+memory +pids +cpu");
  expect(read(`skein-${process.pid}`, "cgroup.subtree_control")).toBe("+memory +pids +cpu");
  const sandbox = found.create({ totalMemoryBytes: 64 * 1024 ** 2, processes: 10 });
  const [joined = ""] = sandbox.joins;
  expect(sandbox.joins).toHaveLength(1);
  const own = dirname(joined);
  expect(readFileSync(join(own, "memory.max"), "utf8")).toBe(String(64 * 1024 ** 2));
  expect(readFileSync(join(own, "memory.oom.group"), "utf8")).toBe("1");
  expect(sandbox.exceeded()).toBeUndefined();
  writeFileSync(join(own, "memory.events"), "low 0\noom 1\noom_kill 1\n");
  expect(sandbox.exceeded()).toContain("64 MiB of memory");
});

test("in cgroups version 2 a group with other processes is not changed, and the reason is reported", () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-cgroup2-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "tree"));
  writeFileSync(join(folder, "tree", "cgroup.procs"), `${process.pid}\n1\n`);
  writeFileSync(join(folder, "mountinfo"), `30 25 0:26 / ${join(folder, "tree")} rw,nosuid - cgroup2 cgroup2 rw\n`);
  writeFileSync(join(folder, "cgroup"), "0::/\n");
  expect(openCgroups(folder)).toMatchObject({ problem: expect.stringContaining("other processes are in the group") });
});

const opened = openCgroups();
describe.skipIf("problem" in opened)("control groups of this machine", () => {
  test("a group is created for a sandbox and removed with it", () => {
    if ("problem" in opened) throw new Error(opened.problem);
    const group = opened.create({ totalMemoryBytes: 64 * 1024 ** 2, processes: 10 });
    expect(group.joins.length).toBeGreaterThan(0);
    expect(group.joins.every((file) => existsSync(file))).toBe(true);
    expect(group.exceeded()).toBeUndefined();
    group.remove();
    expect(group.joins.map((file) => dirname(file)).filter((folder) => existsSync(folder))).toEqual([]);
  });

  test.skipIf(!hasBubblewrap)(
    "a program that uses too much memory for less than a second is ended too, with an error that names the limit",
    async () => {
      const found = await openBubblewrap();
      if ("problem" in found) throw new Error(found.problem);
      const cwd = mkdtempSync(join(tmpdir(), "skein-burst-"));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const burst = found.sandbox.start({
        command: "/bin/bash",
        // `tail` keeps its whole input in memory until the end.
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
