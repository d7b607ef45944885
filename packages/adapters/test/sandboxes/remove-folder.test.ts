import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeFolder } from "../../src/sandboxes/remove-folder.ts";

test("a folder is removed while the server continues, links in it are not followed, and a missing folder is no error", async () => {
  const home = mkdtempSync(join(tmpdir(), "skein-removed-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const [folder, outside] = [join(home, "-folder"), join(home, "outside")];
  for (const path of [join(folder, "deep/er"), outside]) mkdirSync(path, { recursive: true });
  for (let file = 0; file < 500; file += 1) writeFileSync(join(folder, "deep", `${file}`), "");
  writeFileSync(join(outside, "kept"), "");
  symlinkSync(outside, join(folder, "link"));
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  await removeFolder(folder);
  clearInterval(timer);
  expect([existsSync(folder), readdirSync(outside), turns > 0]).toEqual([false, ["kept"], true]);
  await removeFolder(folder);
});
