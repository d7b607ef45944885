/**
 * One spelling for the path of a folder, so that it is the same project for every agent: without a slash at its end, and on
 * Windows with backslashes and a capital drive.
 */
export function folderPath(path: string): string {
  const isWindows = /^[A-Za-z]:(?:[\\/]|$)/.test(path);
  if (!isWindows) return path.length > 1 ? path.replace(/(?<=[^/])\/+$/, "") : path;
  const plain = path.replaceAll("/", "\\").replace(/\\+$/, "");
  return plain.charAt(0).toUpperCase() + (plain.length === 2 ? `${plain.slice(1)}\\` : plain.slice(1));
}
