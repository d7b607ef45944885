/** Moves a workspace, and kills this process at the file-system call with the given number. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [, , at = "0", options = "{}", source = "", destination = ""] = process.argv;
let calls = 0;
for (const name of ["writeSync", "renameSync", "linkSync", "unlinkSync", "mkdirSync", "rmdirSync"] as const) {
  const real = fs[name] as (...args: unknown[]) => unknown;
  (fs as unknown as Record<string, unknown>)[name] = (...args: unknown[]): unknown => {
    calls += 1;
    if (calls === Number(at)) process.kill(process.pid, "SIGKILL");
    return real(...args);
  };
}
syncBuiltinESMExports();
const { migrateWorkspace } = await import("../src/index.ts");
await migrateWorkspace({ source, destination, mode: "move" }, JSON.parse(options) as object);
