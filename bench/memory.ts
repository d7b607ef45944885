import { readFileSync } from "node:fs";

/**
 * The most memory that this process had, in megabytes. Not `maxRSS` where the system tells it better: on Linux a child inherits the
 * figure of the process that started it, so after a large parent every child seems large.
 */
export function peakMegabytes(): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (kilobytes !== undefined) return Number(kilobytes) / 1024;
  } catch {
    // Not Linux.
  }
  return process.resourceUsage().maxRSS / 1024;
}
