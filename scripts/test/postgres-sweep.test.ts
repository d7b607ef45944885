import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

test("a folder that another user left in the temporary directory does not stop the tests", () => {
  const prefix = `skein-sweep-${process.pid}-`;
  const abandoned = mkdtempSync(join(tmpdir(), prefix));
  onTestFinished(() => {
    chmodSync(abandoned, 0o700);
    rmSync(abandoned, { recursive: true, force: true });
  });
  mkdirSync(join(abandoned, "data"));
  utimesSync(abandoned, 0, 0);
  chmodSync(abandoned, 0o500);
  // Root may remove everything, so the sweep runs as another user.
  const program = `
    const { sweepAbandoned } = await import(process.argv[1]);
    if (process.getuid?.() === 0) process.setuid(65534);
    sweepAbandoned(process.argv[2]);`;
  const script = new URL("../postgres.ts", import.meta.url).href;
  execFileSync(process.execPath, ["--input-type=module", "--eval", program, script, prefix], { stdio: "pipe" });
  expect(existsSync(abandoned)).toBe(true);
});
