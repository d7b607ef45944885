/** Paths in the folder `from` become paths in `to`. Only whole names match: `/a/bc` is not in `/a/b`. */
export interface PathMapping {
  readonly from: string;
  readonly to: string;
}

function isWindowsPath(path: string): boolean {
  return /^[A-Za-z]:[\\/]/.test(path) || path.startsWith("\\\\");
}

/** Removes separators at the end of a path, except from a root. */
export function withoutTrailingSeparator(path: string): string {
  const short = path.replace(isWindowsPath(path) ? /[\\/]+$/ : /\/+$/, "");
  return short === "" || /^[A-Za-z]:$/.test(short) ? path : short;
}

/** Returns the length of `folder` if `path` is this folder or inside it. Returns undefined if `path` is outside. */
export function lengthInside(path: string, folder: string): number | undefined {
  const isWindows = isWindowsPath(folder);
  if (path.length < folder.length) return undefined;
  const head = path.slice(0, folder.length);
  if (isWindows ? windowsKey(head) !== windowsKey(folder) : head !== folder) return undefined;
  const next = path.charAt(folder.length);
  const isBoundary = next === "" || next === "/" || (isWindows && next === "\\") || /[\\/]$/.test(folder);
  return isBoundary ? folder.length : undefined;
}

/** Lowers only the case of ASCII letters, because other letters may change their length with their case. */
function windowsKey(path: string): string {
  return path.replaceAll("\\", "/").replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

export interface MappedPath {
  readonly path: string;
  /** Set if only the beginning of the path changes, so that replacing the beginning is enough. */
  readonly prefix: { readonly old: string; readonly new: string } | undefined;
}

/**
 * Maps a path with the first mapping that fits. Returns undefined if no mapping fits. Mappings of longer folders must
 * come first.
 */
export function mapPath(path: string, mappings: readonly PathMapping[]): MappedPath | undefined {
  for (const { from, to } of mappings) {
    const length = lengthInside(path, from);
    if (length === undefined) continue;
    const rest = path.slice(length);
    const isWindows = isWindowsPath(from);
    if (isWindows === isWindowsPath(to)) return { path: to + rest, prefix: { old: path.slice(0, length), new: to } };
    const turned = isWindows ? rest.replaceAll("\\", "/") : rest.replaceAll("/", "\\");
    return { path: to + turned, prefix: undefined };
  }
  return undefined;
}
