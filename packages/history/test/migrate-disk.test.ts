import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { migrateSession, migrateWorkspace } from "../src/index.ts";
import { createDataDirectory } from "./data-directory.ts";
import { away, fill, home, snapshot } from "./migrate-world.ts";

/** Mounts a small separate disk. Returns undefined if mounting is not allowed. */
function smallDisk(megabytes: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "skein-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "skein", folder], { stdio: "ignore" });
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  onTestFinished(() => {
    execFileSync("umount", [folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

test("a move to another disk leaves no files behind, and undo moves the sessions back", async ({ skip }) => {
  const disk = smallDisk(8);
  if (disk === undefined) return skip("mounting needs root");
  const data = createDataDirectory();
  fill(data, 2);
  const before = snapshot(data.root);
  const other = join(disk, "claude");
  mkdirSync(join(other, "projects"), { recursive: true });
  const options = { ...data.config, journalFolder: join(data.cacheFolder, "m"), destinationRoot: other };
  expect(await migrateWorkspace({ source: home, destination: away, mode: "move" }, options)).toMatchObject({
    successCount: 2,
    failedCount: 0,
  });
  expect(readdirSync(data.path("projects"))).toEqual([]);
  const { undoMigration } = await import("../src/index.ts");
  expect(await undoMigration(undefined, options)).toMatchObject({ successCount: 2, failedCount: 0 });
  const after = snapshot(data.root);
  const { "history.jsonl": _now, ...files } = after;
  const { "history.jsonl": _then, ...expected } = before;
  expect(files).toEqual(expected);
});

test("a move to a full disk fails without partial files or changes of the source, and succeeds with more space", async ({
  skip,
}) => {
  const disk = smallDisk(2);
  if (disk === undefined) return skip("mounting needs root");
  const data = createDataDirectory();
  const ids = fill(data, 10);
  const line = `{"type":"system","content":"${"x".repeat(999_900)}"}\n`;
  for (const id of ids.slice(1)) data.append(join("projects", "-work-app", `${id}.jsonl`), line);
  const before = snapshot(data.path("projects"));
  const other = join(disk, "claude");
  mkdirSync(join(other, "projects"), { recursive: true });
  writeFileSync(join(disk, "ballast"), Buffer.alloc(400_000));
  const options = { ...data.config, journalFolder: join(data.cacheFolder, "m"), destinationRoot: other };
  const result = await migrateSession({ sessions: ids, destination: away, mode: "move" }, options);
  expect(result.successCount + result.failedCount).toBe(10);
  expect(result.successCount).toBeGreaterThan(0);
  expect(new Set(result.errors.map(({ code }) => code))).toEqual(new Set(["no-space"]));
  const moved = snapshot(join(other, "projects"));
  expect(Object.keys(moved).filter((path) => path.includes(".skein"))).toEqual([]);
  const now = snapshot(data.path("projects"));
  for (const { sessionId } of result.errors) {
    for (const [path, hash] of Object.entries(before)) if (path.includes(sessionId)) expect(now[path]).toBe(hash);
    expect(Object.keys(moved).filter((path) => path.includes(sessionId))).toEqual([]);
  }
  execFileSync("mount", ["-o", "remount,size=40m", disk]);
  const rest = await migrateSession(
    { sessions: result.errors.map(({ sessionId }) => sessionId), destination: away, mode: "move" },
    options,
  );
  expect(rest).toMatchObject({ failedCount: 0, successCount: result.failedCount });
  expect(
    Object.keys(snapshot(join(other, "projects"))).filter(
      (path) => path.endsWith(".jsonl") && !path.includes("subagents"),
    ),
  ).toHaveLength(11);
});
