import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { LibraryConfig } from "../../../config.ts";
import { existingRoots } from "../../discover.ts";
import type { StatsCache } from "../format/other-files.ts";

export interface StatsFile {
  readonly path: string;
  readonly stats: StatsCache;
}

/**
 * Reads the statistics that Claude Code writes. `getUsage` does not use them, because they are often outdated or wrong.
 */
export async function readStats(config: LibraryConfig = {}): Promise<readonly StatsFile[]> {
  const schemas = await import("../format/other-files.ts");
  return existingRoots(config).flatMap((root) => {
    const path = join(root, "stats-cache.json");
    try {
      return [{ path, stats: schemas.StatsCache.parse(JSON.parse(readFileSync(path, "utf8"))) }];
    } catch {
      return [];
    }
  });
}
