import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { ConsoleFiles } from "@skein/server";

/** Opens the built console in a folder. Returns undefined if the folder has no console. */
export function openConsole(folder: string | undefined): ConsoleFiles | undefined {
  if (folder === undefined || !existsSync(join(folder, "index.html"))) return undefined;
  /** Assets in memory. The name of an asset has a hash of its content, so a file is read only once. */
  const assets = new Map<string, Uint8Array>();
  return {
    async read(name) {
      const known = assets.get(name);
      if (known) return known;
      const content = await readFile(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" || error.code === "EISDIR") return undefined;
        throw error;
      });
      if (content && name.startsWith("assets/")) assets.set(name, content);
      return content;
    },
  };
}

/** Finds the built console: the console's `dist` in a clone, or `console` in the server package from npm. */
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
      // The package is not installed. Try the next place.
    }
  return undefined;
}
