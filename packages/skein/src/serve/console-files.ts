import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { ConsoleFiles } from "@skein/server";

/** The built console in a folder; undefined if nothing was built there. */
export function openConsole(folder: string | undefined): ConsoleFiles | undefined {
  if (folder === undefined || !existsSync(join(folder, "index.html"))) return undefined;
  /** The assets that were read. The name of an asset has a hash of its content, so each file is read only once. */
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

/** The folder of the built console: its own folder in a clone, or beside the server package in an installation from npm. */
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
      // Not installed: try the next one.
    }
  return undefined;
}
