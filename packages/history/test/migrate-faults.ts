/** Makes the file system fail at a chosen call, as if the process were killed or the disk were full. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

export type Fault = "killed" | "full" | "once";

export class InjectedFault extends Error {
  readonly code: string;
  constructor(code: string) {
    super(`injected ${code}`);
    this.code = code;
  }
}

const changing = [
  "writeSync",
  "fsyncSync",
  "renameSync",
  "linkSync",
  "unlinkSync",
  "mkdirSync",
  "rmdirSync",
  "rmSync",
  "symlinkSync",
  "chmodSync",
  "utimesSync",
  "openSync",
] as const;
/** The functions that fail if the disk is full. */
const needsSpace: ReadonlySet<string> = new Set([
  "writeSync",
  "linkSync",
  "mkdirSync",
  "symlinkSync",
  "openSync",
  "fsyncSync",
]);

export interface Ran {
  readonly calls: number;
  readonly error: unknown;
}

/**
 * Runs `work` with a fault at the call with the number `at`. `once` fails only this call. `killed` also fails all later
 * calls, and `full` all later calls that need space. With 0, no call fails. Returns the number of calls and the error
 * of `work`.
 */
export async function withFault(at: number, fault: Fault, work: () => Promise<unknown>): Promise<Ran> {
  const original = Object.fromEntries(changing.map((name) => [name, fs[name]]));
  let calls = 0;
  for (const name of changing) {
    const real = fs[name] as (...args: unknown[]) => unknown;
    const replaced = (...args: unknown[]): unknown => {
      if (name === "openSync" && (args[1] === undefined || args[1] === "r" || typeof args[1] === "number"))
        return real(...args);
      calls += 1;
      if (fault === "killed" && at > 0 && calls >= at) throw new InjectedFault("KILLED");
      if (fault === "full" && at > 0 && calls >= at && needsSpace.has(name)) throw new InjectedFault("ENOSPC");
      if (fault === "once" && calls === at) throw new InjectedFault("EIO");
      // Flushing to the disk is left out, because it is slow and these tests check only the order of calls.
      return name === "fsyncSync" ? undefined : real(...args);
    };
    (fs as unknown as Record<string, unknown>)[name] = replaced;
  }
  syncBuiltinESMExports();
  try {
    await work();
    return { calls, error: undefined };
  } catch (error) {
    return { calls, error };
  } finally {
    Object.assign(fs, original);
    syncBuiltinESMExports();
  }
}

/** Runs `work` on a disk that stores other bytes wherever this text is written. */
export async function withWrongBytes<Result>(text: string, work: () => Promise<Result>): Promise<Result> {
  const { writeSync } = fs;
  const wrong = (bytes: unknown): unknown =>
    Buffer.isBuffer(bytes) && bytes.includes(text)
      ? Buffer.from(bytes.toString("latin1").replace(text, "?".repeat(text.length)), "latin1")
      : bytes;
  const replaced = (fd: number, bytes: unknown, ...place: unknown[]): unknown =>
    (writeSync as (...args: unknown[]) => unknown)(fd, wrong(bytes), ...place);
  (fs as unknown as Record<string, unknown>)["writeSync"] = replaced;
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    fs.writeSync = writeSync;
    syncBuiltinESMExports();
  }
}

/** Runs `work` without faults and without flushing to the disk. */
export async function withoutFault<Result>(work: () => Promise<Result>): Promise<Result> {
  const running: Promise<Result>[] = [];
  await withFault(0, "once", async () => running[running.push(work()) - 1]);
  return await Promise.race(running);
}
