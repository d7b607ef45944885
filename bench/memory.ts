import { readFileSync } from "node:fs";

/**
 * The most memory that this process had, in megabytes. On Linux, `maxRSS` would be wrong, because a child inherits this
 * figure from its parent.
 */
export function peakMegabytes(): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (kilobytes !== undefined) return Number(kilobytes) / 1024;
  } catch {
    // Only Linux has this file.
  }
  return process.resourceUsage().maxRSS / 1024;
}
