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

/** Where the build of the console is: in a clone in its own folder, and where Skein was installed from npm beside the server. */
export function consoleFolder(): string | undefined {
  const { resolve } = createRequire(import.meta.url);
  const places = [
    () => join(dirname(resolve("@skein/console/package.json")), "dist"),
    () => join(dirname(resolve("@skein/server")), "console"),
  ];
  for (const place of places)
    try {
      const folder = place();
      if (existsSync(join(folder, "index.html"))) return folder;
    } catch {
      // Not installed: the next one.
    }
  return undefined;
}
