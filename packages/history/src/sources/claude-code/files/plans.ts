import { readdirSync, readFileSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { LibraryConfig } from "../../../config.ts";
import { existingRoots } from "../../discover.ts";
import type { parsePlan, Plan } from "../format/plan.ts";

export interface PlanFile extends Plan {
  /** The file's name without `.md`. The lines of old sessions have this name as `slug`. */
  readonly name: string;
  readonly path: string;
  readonly content: string;
  readonly sizeBytes: number;
  readonly createdAt: Date;
  readonly modifiedAt: Date;
}

/** Lists the plans of all data directories, the newest first. */
export async function listPlans(config: LibraryConfig = {}): Promise<readonly PlanFile[]> {
  const { parsePlan } = await import("../format/plan.ts");
  const plans = existingRoots(config).flatMap((root) => plansIn(plansFolder(root), parsePlan));
  return plans.sort((a, b) => Number(b.modifiedAt) - Number(a.modifiedAt));
}

/** Returns the folder with the plans. The setting `plansDirectory` can change this folder. */
function plansFolder(root: string): string {
  try {
    const { plansDirectory } = JSON.parse(readFileSync(join(root, "settings.json"), "utf8")) as {
      plansDirectory?: unknown;
    };
    // A relative path is not used: it is inside each project, and the settings do not have a list of projects.
    if (typeof plansDirectory === "string" && isAbsolute(plansDirectory)) return plansDirectory;
  } catch {
    // There are no settings, or they cannot be read.
  }
  return join(root, "plans");
}

function plansIn(folder: string, parse: typeof parsePlan): readonly PlanFile[] {
  return namesIn(folder, ".md").flatMap((name) => {
    const path = join(folder, name);
    try {
      const { size, birthtime, mtime } = statSync(path);
      const content = readFileSync(path, "utf8");
      return {
        name: name.slice(0, -3),
        path,
        content,
        sizeBytes: size,
        createdAt: birthtime,
        modifiedAt: mtime,
        ...parse(content),
      };
    } catch {
      return [];
    }
  });
}

/** Lists the names of the plain files with this extension. Pipes are left out, because a pipe would block the reader. */
export function namesIn(folder: string, extension: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
      .map((entry) => entry.name)
      .sort();
  } catch {
    return [];
  }
}
