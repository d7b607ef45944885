import { execFileSync } from "node:child_process";
import { closeSync, constants, copyFileSync, mkdirSync, openSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";

/** A disk with simulated power failures: an ext4 file system in a file, mounted through a loop device. */
export interface Disk {
  readonly mountPoint: string;
  /**
   * Simulates a power failure. Returns a new disk with the data that had reached this disk. Data in the memory of the
   * operating system is lost.
   */
  cut(): Disk;
  remove(): void;
}

/** Returns a sentence that says why this machine cannot make such a disk, or undefined if it can. */
export function whyNoDisk(): string | undefined {
  if (process.platform !== "linux") return "The power-cut test needs Linux (loop devices and ext4).";
  if (process.getuid?.() !== 0)
    return "The power-cut test mounts disk images, which only root may do: run it with sudo.";
  for (const [command, from] of [
    ["mkfs.ext4", "e2fsprogs"],
    ["losetup", "mount"],
    ["mount", "mount"],
  ] as const)
    if (!works("sh", "-c", `command -v ${command}`))
      return `The power-cut test needs ${command}. Install it, for example with: sudo apt-get install ${from}`;
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
    // By default, ext4 saves data without fsync every five seconds. The longer interval lets a power failure lose such
    // data.
    run("mount", "-o", "commit=600,noatime", device, mountPoint);
  } catch (error) {
    run("losetup", "--detach", device);
    throw error;
  }
  let there = true;

  function remove(): void {
    if (!there) return;
    there = false;
    // A process may still have a file on the disk open. The lazy unmount works nevertheless.
    if (!works("umount", mountPoint)) works("umount", "--lazy", mountPoint);
    works("losetup", "--detach", device);
    rmSync(image, { force: true });
    rmSync(mountPoint, { recursive: true, force: true });
  }

  return {
    mountPoint,
    cut() {
      const copy = join(folder, `disk-${(made += 1)}.img`);
      // If something was written during the copy, the copy mixes two moments, so it is repeated.
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

/** Returns the number of written sectors, the seventh field of the device's statistics. */
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
