import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

const open = new Set<string>();

/** Makes a folder for temporary files. It is removed when the process exits. */
export function createTemporaryFolder(prefix: string): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), prefix));
  if (open.size === 0) process.on("exit", removeAll);
  open.add(path);
  return {
    path,
    remove() {
      rmSync(path, { recursive: true, force: true });
      open.delete(path);
      if (open.size === 0) process.off("exit", removeAll);
    },
  };
}

function removeAll(): void {
  for (const path of open) rmSync(path, { recursive: true, force: true });
}
