import { realpath, stat } from "node:fs/promises";
import { isAbsolute, normalize, sep } from "node:path";
import { KnownError } from "@skein/protocol";

export interface Folders {
  /** The real place of a folder that a request named, if it may work there. */
  place(field: string, path: string): Promise<string>;
}

/** Folders that requests may work in: what is registered by name, and everything inside a root. */
export function createFolders(roots: readonly string[], named: Readonly<Record<string, string>>): Folders {
  const all = [...roots, ...Object.values(named)];
  const real = (): Promise<readonly string[]> => Promise.all(all.map((root) => realpath(root).catch(() => root)));

  return {
    async place(field, path) {
      if (path.includes("\0")) throw new KnownError("invalid", `${field}: A path may not contain NUL.`);
      const registered = Object.hasOwn(named, path) ? named[path] : undefined;
      if (registered === undefined && !isAbsolute(path)) {
        const names = Object.keys(named);
        const or = names.length > 0 ? ` or one of the names ${names.join(", ")}` : "";
        throw new KnownError("invalid", `${field}: Expected an absolute path${or}.`);
      }
      const given = normalize(registered ?? path);
      const places = await real();
      // Before looking whether it is there: what is outside is nobody's business.
      if (![...all, ...places].some((root) => isWithin(root, given))) throw outside(field);
      const place = await realpath(given).catch(() => undefined);
      if (place === undefined) throw new KnownError("invalid", `${field}: There is no such folder.`);
      if (!places.some((root) => isWithin(root, place))) throw outside(field);
      if (!(await stat(place)).isDirectory()) throw new KnownError("invalid", `${field}: This is no folder.`);
      return place;
    },
  };
}

/** Compared with a separator at the end: `/data/mem-evil` is not inside `/data/mem`. */
function isWithin(root: string, place: string): boolean {
  const folder = normalize(root).replace(/\/+$/, "");
  return place === folder || (place + sep).startsWith(folder + sep);
}

function outside(field: string): KnownError {
  return new KnownError("not_allowed", `${field}: The operator of this server has not opened this folder.`);
}
