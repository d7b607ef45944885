import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";

/**
 * Removes a folder that a sandboxed program wrote to. A program can make millions of files, so `rm` does this in a
 * separate process. `rm` does not follow links.
 */
export async function removeFolder(path: string, tries = 3): Promise<void> {
  if (!existsSync(path) || tries === 0) return;
  const child = spawn("rm", ["-rf", "--", path], { stdio: "ignore" });
  // Windows has no `rm`.
  await once(child, "exit").catch(() => rmSync(path, { recursive: true, force: true, maxRetries: 3 }));
  // The sandboxed program may have made another file before it ended.
  return removeFolder(path, tries - 1);
}
