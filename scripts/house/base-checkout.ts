/** The files of an earlier commit, in a temporary folder. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns undefined if the commit is not in this clone. Removes the files when `work` is done. */
export function withCommit<Result>(root: string, commit: string, work: (folder: string) => Result): Result | undefined {
  const known = spawnSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root });
  if (known.status !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "skein-house-"));
  try {
    const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 1 << 30 });
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
