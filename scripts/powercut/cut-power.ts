import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Campaign, type Outcome, runCampaign } from "../kill/campaign.ts";
import type { Place, StoreName } from "../kill/open-store.ts";
import { type Disk, createDisk } from "./disk.ts";

export interface PowerCutOptions {
  readonly store: Exclude<StoreName, "postgres">;
  readonly cuts: number;
  readonly seed: number;
  readonly delayMs: readonly [least: number, most: number];
  /**
   * If true, the disk reports success for every fsync and does nothing. With such a disk the check must find losses.
   */
  readonly lying?: boolean;
  readonly progress?: (text: string) => void;
}

/** The command under which every fsync returns success without doing anything. */
const LYING = [
  "strace",
  "-f",
  "--seccomp-bpf",
  "-qq",
  "-o",
  "/dev/null",
  "-e",
  "trace=fsync,fdatasync,sync_file_range",
].concat("-e", "inject=fsync,fdatasync,sync_file_range:retval=0");

/**
 * Repeatedly writes to a store on a separate disk and cuts the power of the disk. After each cut, the writing continues
 * with the data that had reached the disk.
 */
export async function cutPower({
  store,
  cuts,
  seed,
  delayMs,
  lying = false,
  progress,
}: PowerCutOptions): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "skein-powercut-"));
  let disk: Disk | undefined;
  const cleanUp = (): void => {
    disk?.remove();
    disk = undefined;
    rmSync(folder, { recursive: true, force: true });
  };
  const interrupted = (): never => {
    cleanUp();
    process.exit(130);
  };
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted).once("exit", cleanUp);
  try {
    disk = createDisk(folder);
    const place = (): Place => ({ folder: join(disk?.mountPoint ?? "", "store") });
    const crash: Campaign["crash"] = async (writer) => {
      await writer.kill();
      disk = disk?.cut();
      return place();
    };
    return await runCampaign({
      name: lying ? `${store} without fsync` : store,
      store,
      place: place(),
      cycles: cuts,
      seed,
      delayMs,
      folder: join(folder, "journals"),
      crash,
      ...(lying && { under: LYING }),
      ...(progress && { progress }),
    });
  } finally {
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted).off("exit", cleanUp);
    cleanUp();
  }
}
