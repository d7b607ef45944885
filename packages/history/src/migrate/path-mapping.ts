/** Paths in the folder `from` become paths in `to`. Only whole names match: `/a/bc` is not in `/a/b`. */
export interface PathMapping {
  readonly from: string;
  readonly to: string;
}

function isWindowsPath(path: string): boolean {
  return /^[A-Za-z]:[\\/]/.test(path) || path.startsWith("\\\\");
}

/** A path without separators at its end, except for a root. */
export function withoutTrailingSeparator(path: string): string {
  const short = path.replace(isWindowsPath(path) ? /[\\/]+$/ : /\/+$/, "");
  return short === "" || /^[A-Za-z]:$/.test(short) ? path : short;
}

/** The length of `folder` if `path` is that folder or is inside it, otherwise undefined. */
export function lengthInside(path: string, folder: string): number | undefined {
  const isWindows = isWindowsPath(folder);
  if (path.length < folder.length) return undefined;
  const head = path.slice(0, folder.length);
  if (isWindows ? windowsKey(head) !== windowsKey(folder) : head !== folder) return undefined;
  const next = path.charAt(folder.length);
  const isBoundary = next === "" || next === "/" || (isWindows && next === "\\") || /[\\/]$/.test(folder);
  return isBoundary ? folder.length : undefined;
}

/** Only ASCII letters are changed to lower case, because other letters may change their length with their case. */
function windowsKey(path: string): string {
  return path.replaceAll("\\", "/").replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

export interface MappedPath {
  readonly path: string;
  /** Set if only the beginning of the path changes, so that replacing the beginning is enough. */
  readonly prefix: { readonly old: string; readonly new: string } | undefined;
}

/** The new path according to the first mapping that fits, or undefined. The longest folder must come first. */
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
