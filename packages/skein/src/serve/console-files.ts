import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { ConsoleFiles } from "@skein/server";

/** The built console in a folder; undefined if nothing was built there. */
export function openConsole(folder: string | undefined): ConsoleFiles | undefined {
  if (folder === undefined || !existsSync(join(folder, "index.html"))) return undefined;
  return {
    read: (name) =>
      readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" || error.code === "EISDIR") return undefined;
        throw error;
      }),
  };
}

/** Where the package of the console has its build; undefined if it is not installed. */
export function consoleFolder(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("@skein/console/package.json")), "dist");
  } catch {
    return undefined;
  }
}
