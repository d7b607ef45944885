import { realpath, stat } from "node:fs/promises";
import { isAbsolute, normalize, sep } from "node:path";
import { KnownError } from "@skein/protocol";
import { folderIdentity } from "../../../sandboxes/without-links.ts";

export interface Folders {
  /**
   * Returns the real path of a folder if the request may work in it. `only` limits this to the folders of the key, as
   * names or paths.
   */
  place(field: string, path: string, only?: readonly string[]): Promise<string>;
  /**
   * Returns device and inode of a folder. A session that may write to the parent folder could replace the folder by a
   * link. The sandbox therefore checks that the folder is unchanged.
   */
  identity(field: string, place: string): string;
  /** Returns the real paths of read-only folders. */
  readOnly(): Promise<readonly string[]>;
}

type NamedFolders = Readonly<Record<string, { readonly path: string; readonly access: "read" | "write" }>>;

/**
 * Decides in which folders requests may work: in folders with a name, and in all folders inside a root. Rejects a
 * folder that contains data of the server, or is inside such data. Sessions in such a folder could read API keys and
 * other sessions.
 */
export function createFolders(
  roots: readonly string[],
  registeredFolders: NamedFolders,
  ownData: readonly string[] = [],
): Folders {
  const realPlaces = (all: readonly string[]): Promise<readonly string[]> =>
    Promise.all(all.map((root) => realpath(root).catch(() => root)));

  return {
    readOnly: () =>
      realPlaces(Object.values(registeredFolders).flatMap(({ path, access }) => (access === "read" ? [path] : []))),
    identity(field, place) {
      const found = folderIdentity(place);
      if (found === undefined) throw outside(field, place);
      return found;
    },
    async place(field, path, only) {
      const opened = Object.entries(registeredFolders).filter(([name]) => only?.includes(name) ?? true);
      const named: Readonly<Record<string, string>> = Object.fromEntries(
        opened.map(([name, each]) => [name, each.path]),
      );
      const all = [...(only ? only.filter(isAbsolute) : roots), ...Object.values(named)];
      if (path.includes("\0")) throw new KnownError("invalid", `${field}: A path may not contain NUL.`);
      const registered = Object.hasOwn(named, path) ? named[path] : undefined;
      if (registered === undefined && !isAbsolute(path)) {
        const names = Object.keys(named);
        const or = names.length > 0 ? ` or one of the names ${names.join(", ")}` : "";
        throw new KnownError("invalid", `${field}: Expected an absolute path${or}.`);
      }
      const given = normalize(registered ?? path);
      const places = await realPlaces(all);
      // The roots are checked first, because callers must not learn which paths exist outside of the roots.
      if (![...all, ...places].some((root) => isWithin(root, given))) throw outside(field, path, only);
      const place = await realpath(given).catch(() => undefined);
      if (place === undefined) throw new KnownError("invalid", `${field}: There is no folder ${quoted(path)}.`);
      if (!places.some((root) => isWithin(root, place))) throw outside(field, path, only);
      if ((await realPlaces(ownData)).some((data) => isWithin(data, place) || isWithin(place, data)))
        throw new KnownError(
          "not_allowed",
          `${field}: This folder contains data of the server, which no session may see. Name another folder, or keep the data elsewhere (--data, --store, --files).`,
        );
      if (!(await stat(place)).isDirectory())
        throw new KnownError("invalid", `${field}: ${quoted(path)} is not a folder.`);
      return place;
    },
  };
}

/** Compares paths with a separator at the end, because `/data/mem-evil` is not inside `/data/mem`. */
export function isWithin(root: string, place: string): boolean {
  const folder = normalize(root).replace(/\/+$/, "");
  return place === folder || (place + sep).startsWith(folder + sep);
}

/** Returns an error with the folder as the request wrote it. Callers must not learn the target of a link. */
function outside(field: string, path: string, only?: readonly string[]): KnownError {
  const folder = quoted(path);
  const setting = only
    ? "to folders in this key's rules of the policy"
    : `to roots in skein.config.ts: claude: { roots: [${folder}] }`;
  return new KnownError(
    "not_allowed",
    `${field}: The operator of this server does not allow the folder ${folder}. The operator can add it ${setting}.`,
  );
}

function quoted(path: string): string {
  return JSON.stringify(path.slice(0, 500));
}
