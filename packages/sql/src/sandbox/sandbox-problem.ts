import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSandbox } from "./create-sandbox.ts";

/** Why SQL from clients cannot run on this machine; undefined if it can. Starts a sandbox to find out. */
export async function sandboxProblem(): Promise<string | undefined> {
  const sandbox = createSandbox({ folder: mkdtempSync(join(tmpdir(), "skein-sandbox-")) });
  try {
    return await sandbox.problem();
  } finally {
    await sandbox.close();
  }
}
