import { accessSync, constants } from "node:fs";
import { join } from "node:path";

/** Where the programs of a sandbox are looked for. The PATH variable is not used. */
const FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/opt/homebrew/bin"];

/** The path of a program of the system; undefined if it is not installed. */
export function findProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
