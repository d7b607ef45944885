import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, startWriter } from "./child-processes.ts";
import { type StoreName, openStore } from "./open-store.ts";

export interface Fault {
  readonly store: Exclude<StoreName, "postgres">;
  readonly error: "EIO" | "ENOSPC";
  /** Which calls fail: "3" means the third call, "3+" means the third and all later calls. */
  readonly when: string;
}

/**
 * The system calls of a store that change the disk. Reads and opens are tested elsewhere.
 *
 * strace makes calls fail only for files with these paths. The file names of the filesystem store are not known in
 * advance. Without the names, strace cannot distinguish writes to files from writes to the pipe, so no `write` of this
 * store fails.
 */
const CALLS = {
  sqlite: {
    calls: "write,pwrite64,fsync,fdatasync,ftruncate,fallocate",
    files: ["skein.db", "skein.db-wal", "skein.db-shm", "skein.db.wake"],
  },
  filesystem: { calls: "pwrite64,fsync,fdatasync,ftruncate,rename,link,mkdir", files: [] },
} as const;

export interface FaultOutcome {
  /** Whether the run made this call at all. */
  readonly hit: boolean;
  readonly acknowledged: number;
  readonly violations: readonly string[];
}

/**
 * Makes the system calls of `when` in a short run fail. Afterwards the store must open and contain everything
 * acknowledged.
 */
export async function runWithFault({ store, error, when }: Fault): Promise<FaultOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "skein-fault-"));
  try {
    const place = { folder: join(folder, "store") };
    mkdirSync(place.folder);
    const [journal, trace] = [join(folder, "journal.jsonl"), join(folder, "trace")];
    // Creates the tables and folders first, so that the faults hit appends.
    await (await openStore(store, place)).close();
    const { calls, files } = CALLS[store];
    const under = ["strace", "-f", "-qq", "-o", trace].concat(
      files.flatMap((name) => ["-P", join(place.folder, name)]),
      ["-e", `trace=${calls}`, "-e", `inject=${calls}:error=${error}:when=${when}`],
    );
    await startWriter({ store, place }, journal, { under, program: "short-run.ts" }).ended();
    const hit = readFileSync(trace, "utf8").includes("(INJECTED)");
    const { violations, acknowledged } = await check({ store, place, journals: [journal], whole: true });
    return {
      hit,
      acknowledged,
      violations: violations.map((sentence) => `${store}, ${error} at call ${when}: ${sentence}`),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Repeats a short run. In each repetition a later system call fails, until every call has failed once. */
export async function everyFault(
  store: Fault["store"],
  progress: (text: string) => void,
): Promise<{ readonly runs: number; readonly violations: readonly string[] }> {
  const violations: string[] = [];
  let runs = 0;
  for (const error of ["EIO", "ENOSPC"] as const)
    for (const suffix of ["", "+"]) {
      let call = 0;
      for (let hit = true; hit; runs++) {
        const outcome = await runWithFault({ store, error, when: `${(call += 1)}${suffix}` });
        violations.push(...outcome.violations);
        for (const violation of outcome.violations) progress(violation);
        ({ hit } = outcome);
        if (call % 10 === 0) progress(`${store}: ${error} at call ${call}${suffix}`);
      }
    }
  return { runs, violations };
}
