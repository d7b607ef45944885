import { execFileSync } from "node:child_process";
import { closeSync, constants, copyFileSync, mkdirSync, openSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";

/** An ext4 file system in a file, mounted through a loop device: a disk whose power can be cut. */
export interface Disk {
  readonly mountPoint: string;
  /**
   * Simulates a power failure. Replaces this disk by a new one that has only the data that had reached the disk. Data in
   * the memory of the operating system is lost.
   */
  cut(): Disk;
  remove(): void;
}

/** The reason why this machine cannot make such a disk, as a sentence. */
export function whyNoDisk(): string | undefined {
  if (process.platform !== "linux") return "The power-cut rig needs Linux (loop devices and ext4).";
  if (process.getuid?.() !== 0)
    return "The power-cut rig mounts disk images, which only root may do: run it with sudo.";
  for (const [command, from] of [
    ["mkfs.ext4", "e2fsprogs"],
    ["losetup", "mount"],
    ["mount", "mount"],
  ] as const)
    if (!works("sh", "-c", `command -v ${command}`))
      return `The power-cut rig needs ${command}. Install it, for example with: sudo apt-get install ${from}`;
  return works("losetup", "--find")
    ? undefined
    : "There is no loop device here (a container without /dev/loop-control?).";
}

const SIZE = 128 * 1024 * 1024;
let made = 0;

export function createDisk(folder: string): Disk {
  const image = join(folder, `disk-${(made += 1)}.img`);
  closeSync(openSync(image, "w"));
  truncateSync(image, SIZE);
  run("mkfs.ext4", "-q", "-F", image);
  return mounted(folder, image);
}

function mounted(folder: string, image: string): Disk {
  const mountPoint = `${image}.d`;
  mkdirSync(mountPoint);
  const device = run("losetup", "--find", "--show", image).trim();
  try {
    // ext4 would commit every five seconds, which would also save data that was not synced. So it commits every ten
    // minutes.
    run("mount", "-o", "commit=600,noatime", device, mountPoint);
  } catch (error) {
    run("losetup", "--detach", device);
    throw error;
  }
  let there = true;

  function remove(): void {
    if (!there) return;
    there = false;
    // A lazy unmount, so that a process with an open file there does not prevent the cleanup.
    if (!works("umount", mountPoint)) works("umount", "--lazy", mountPoint);
    works("losetup", "--detach", device);
    rmSync(image, { force: true });
    rmSync(mountPoint, { recursive: true, force: true });
  }

  return {
    mountPoint,
    cut() {
      const copy = join(folder, `disk-${(made += 1)}.img`);
      // Copies again if something was written meanwhile, because then the copy mixes two moments.
      for (;;) {
        const before = sectorsWritten(device);
        copyFileSync(image, copy, constants.COPYFILE_FICLONE);
        if (sectorsWritten(device) === before) break;
      }
      remove();
      return mounted(folder, copy);
    },
    remove,
  };
}

/** The number of sectors written, which is the seventh field of the device's statistics. */
function sectorsWritten(device: string): string {
  const name = device.split("/").at(-1) ?? "";
  return readFileSync(`/sys/block/${name}/stat`, "utf8").trim().split(/\s+/u)[6] ?? "";
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function works(command: string, ...args: readonly string[]): boolean {
  try {
    run(command, ...args);
    return true;
  } catch {
    return false;
  }
}
