import { mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxLimits } from "@skein/core";
import { taskLimit } from "./guard.ts";

/**
 * Limits sandboxes with control groups. The kernel counts memory and processes of a group, enforces limits, and shares
 * CPU time between groups. This works only if the user of this server owns a folder of the group tree, as root or a
 * service with `Delegate=yes` does. Reasons: docs/decisions/179-cgroups.md.
 */
export interface Cgroups {
  readonly version: 1 | 2;
  create(limits: SandboxLimits): Cgroup;
}

export interface Cgroup {
  /** The files of the group to which a process writes its id to join. */
  readonly joins: readonly string[];
  /** Returns the limit that was exceeded, as part of a sentence, or undefined. */
  exceeded(): string | undefined;
  /** Removes the group as soon as its processes have ended. */
  remove(): void;
}

const CONTROLLERS = ["memory", "pids", "cpu"] as const;
type Controller = (typeof CONTROLLERS)[number];

/** The parent folder for new groups, by controller. In version 2, all controllers have the same folder. */
type Parents = Readonly<Record<Controller, string>>;

/** True if the groups will be removed at the end of this process. */
let tidied = false;

/** Finds the groups of this process, and checks that they work. Tests pass other `files` than `/proc/self`. */
export function openCgroups(files = "/proc/self"): Cgroups | { readonly problem: string } {
  try {
    const found = findParents(readFileSync(`${files}/mountinfo`, "utf8"), readFileSync(`${files}/cgroup`, "utf8"));
    if ("problem" in found) return found;
    const { version } = found;
    const parents = version === 2 ? delegated(found.parents.memory) : found.parents;
    const own = Object.fromEntries(
      CONTROLLERS.map((controller) => [controller, join(parents[controller], `skein-${process.pid}`)]),
    ) as Parents;
    for (const folder of new Set(Object.values(parents))) sweep(folder);
    prepare(version, own);
    const cgroups = createCgroups(version, own);
    // A test group shows whether the limits can be set.
    cgroups.create({ totalMemoryBytes: 1024 ** 3, processes: 16 }).remove();
    if (!tidied) process.once("exit", () => removeAll([...new Set(Object.values(own))], 1));
    tidied = true;
    return cgroups;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { problem: `cgroups cannot be used here (${code ?? message})` };
  }
}

/**
 * Makes the group for all sandboxes of this process. The sandboxes together get as much CPU time as eight processes
 * outside of groups.
 */
function prepare(version: 1 | 2, own: Parents): void {
  for (const folder of new Set(Object.values(own))) make(folder);
  if (version === 2) write(own.memory, "cgroup.subtree_control", "+memory +pids +cpu");
  if (version === 2) write(own.cpu, "cpu.weight", 800);
  else write(own.cpu, "cpu.shares", 8192);
}

/** The number of groups so far. The newest group has this number as its name. */
let made = 0;

function createCgroups(version: 1 | 2, own: Parents): Cgroups {
  return {
    version,
    create(limits) {
      made += 1;
      const folders = mapped(own, (folder) => join(folder, String(made)));
      for (const folder of Object.values(folders)) make(folder);
      limit(version, folders, limits);
      const distinct = [...new Set(Object.values(folders))];
      return {
        joins: distinct.map((folder) => join(folder, "cgroup.procs")),
        exceeded: () => exceeded(version, folders, limits),
        remove: () => removeAll(distinct),
      };
    },
  };
}

function limit(version: 1 | 2, folders: Parents, { totalMemoryBytes, processes }: SandboxLimits): void {
  const { memory, pids } = folders;
  if (totalMemoryBytes !== undefined) {
    write(memory, version === 2 ? "memory.max" : "memory.limit_in_bytes", totalMemoryBytes);
    // If memory runs out, the kernel kills all processes of the group. If it killed only some of them, the others would
    // hang.
    if (version === 2) write(memory, "memory.oom.group", 1);
  }
  if (processes !== undefined) write(pids, "pids.max", taskLimit(processes));
}

function exceeded(version: 1 | 2, { memory, pids }: Parents, limits: SandboxLimits): string | undefined {
  const { totalMemoryBytes, processes } = limits;
  const kills = count(memory, version === 2 ? "memory.events" : "memory.oom_control", "oom_kill");
  if (totalMemoryBytes !== undefined && kills > 0)
    return `its processes used more than ${Math.ceil(totalMemoryBytes / 1024 ** 2)} MiB of memory, which is all that they may use`;
  if (processes !== undefined && count(pids, "pids.events", "max") > 0)
    return `it had more than ${taskLimit(processes)} processes and threads, and may have ${processes} processes`;
  return undefined;
}

/**
 * Returns the folder in which version 2 allows new groups: the group of this process. A group must not contain both
 * groups and processes, so this process moves to a new group inside it. Throws if the group has other processes.
 */
function delegated(group: string): Parents {
  const others = readFileSync(join(group, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
  const leaf = join(group, "skein-server");
  if (others.some((pid) => pid !== process.pid)) throw new Error("other processes are in the group of this server");
  make(leaf);
  write(leaf, "cgroup.procs", process.pid);
  write(group, "cgroup.subtree_control", "+memory +pids +cpu");
  return { memory: group, pids: group, cpu: group };
}

/**
 * Returns the folders of the controllers for this process. `mountinfo` and `memberships` are the contents of the
 * process's files `mountinfo` and `cgroup` in `/proc`.
 */
export function findParents(
  mountinfo: string,
  memberships: string,
): { readonly version: 1 | 2; readonly parents: Parents } | { readonly problem: string } {
  const mounts = mountinfo.split("\n").flatMap((line) => {
    const [, root = "", place = "", kind = "", options = ""] =
      /^\S+ \S+ \S+ (\S+) (\S+) .*? - (\S+) \S+ (\S+)$/.exec(line) ?? [];
    return kind.startsWith("cgroup") ? [{ root, place, kind, options: options.split(",") }] : [];
  });
  const paths = memberships.split("\n").flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.+)$/.exec(line) ?? [];
    return controllers === undefined || path === undefined ? [] : [{ controllers: controllers.split(","), path }];
  });
  const placeOf = (mount: (typeof mounts)[number] | undefined, path: string | undefined): string | undefined =>
    // In a container, the root of the mount is the container's group.
    mount && path !== undefined
      ? join(mount.place, mount.root === "/" ? path : path.replace(mount.root, ""))
      : undefined;
  const older = CONTROLLERS.map((controller) =>
    placeOf(
      mounts.find(({ kind, options }) => kind === "cgroup" && options.includes(controller)),
      paths.find(({ controllers }) => controllers.includes(controller))?.path,
    ),
  );
  const [memory, pids, cpu] = older;
  if (memory !== undefined && pids !== undefined && cpu !== undefined)
    return { version: 1, parents: { memory, pids, cpu } };
  const group = placeOf(
    mounts.find(({ kind }) => kind === "cgroup2"),
    paths.find(({ controllers }) => controllers.join("") === "")?.path,
  );
  if (group === undefined) return { problem: "this system has no cgroups" };
  return { version: 2, parents: { memory: group, pids: group, cpu: group } };
}

/** Removes the groups of servers that were killed. */
function sweep(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = /^skein-(\d+)$/.exec(name)?.[1];
    if (pid === undefined || Number(pid) === process.pid || isAlive(Number(pid))) continue;
    const folder = join(parent, name);
    const groups = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory());
    removeAll([...groups.map((each) => join(folder, each.name)), folder], 1);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Removes groups, inner groups first. If a group still has processes, the removal is retried. */
function removeAll(folders: readonly string[], tries = REMOVE_TRIES): void {
  const left = folders.filter((folder) => !isRemoved(folder));
  if (left.length > 0 && tries > 1) setTimeout(() => removeAll(left, tries - 1), REMOVE_MS).unref();
}

const REMOVE_TRIES = 20;
const REMOVE_MS = 50;

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function make(folder: string): void {
  mkdirSync(folder, { recursive: true });
}

function write(folder: string, file: string, value: string | number): void {
  writeFileSync(join(folder, file), String(value));
}

/** Returns the number after a name in a file of names and numbers. */
function count(folder: string, file: string, name: string): number {
  try {
    const text = readFileSync(join(folder, file), "utf8");
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function mapped(parents: Parents, change: (folder: string) => string): Parents {
  return { memory: change(parents.memory), pids: change(parents.pids), cpu: change(parents.cpu) };
}
