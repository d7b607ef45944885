/**
 * Returns the path of a folder in one spelling, so that a folder is one project for all agents. The path has no slash
 * at its end. On Windows it has backslashes and a capital drive letter.
 */
export function folderPath(path: string): string {
  const isWindows = /^[A-Za-z]:(?:[\\/]|$)/.test(path);
  if (!isWindows) return path.length > 1 ? path.replace(/(?<=[^/])\/+$/, "") : path;
  const plain = path.replaceAll("/", "\\").replace(/\\+$/, "");
  return plain.charAt(0).toUpperCase() + (plain.length === 2 ? `${plain.slice(1)}\\` : plain.slice(1));
}
