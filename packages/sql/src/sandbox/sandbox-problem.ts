import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSandbox } from "./create-sandbox.ts";

/** Starts a sandbox as a test. Returns the reason if SQL from clients cannot run on this machine, or undefined. */
export async function sandboxProblem(): Promise<string | undefined> {
  const sandbox = createSandbox({ folder: mkdtempSync(join(tmpdir(), "skein-sandbox-")) });
  try {
    return await sandbox.problem();
  } finally {
    await sandbox.close();
  }
}
