/**
 * Tests whether a commit waits for the disk, which empty files are opened, and whether statements keep large values in
 * memory.
 */
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../src/stores/sqlite/database.ts";

const NORMAL = 1;
const FULL = 2;

test("a commit waits for the disk if at least one of its writes must survive a power failure", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-sqlite-database-"));
  const db = openDatabase({ file: join(folder, "skein.db"), busyMs: 1000, committed: () => {} });
  onTestFinished(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const setting = (): unknown => db.get("pragma synchronous")?.["synchronous"];
  expect(await db.write(setting)).toBe(FULL);
  expect(await db.writeFleeting(setting)).toBe(NORMAL);
  expect(await Promise.all([db.writeFleeting(setting), db.write(setting)])).toEqual([FULL, FULL]);
  const failing = db.writeFleeting(() => db.run("insert into nowhere values (1)"));
  await expect(failing).rejects.toThrow();
  expect(await db.write(setting)).toBe(FULL);
});

test("an old empty file is rejected as empty, and a new empty file is opened", () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-sqlite-empty-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "skein.db");
  const open = () => openDatabase({ file, busyMs: 1000, committed: () => {} });
  writeFileSync(file, "");
  utimesSync(file, 0, 0);
  expect(open).toThrow(/The file is empty \(0 bytes\)/);
  utimesSync(file, new Date(), new Date());
  open().close();
});

test("a finished statement does not keep a large parameter in memory", () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-sqlite-values-"));
  const db = openDatabase({ file: join(folder, "skein.db"), busyMs: 1000, committed: () => {} });
  onTestFinished(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  db.run("create table large (number, value)");
  const value = Buffer.alloc(16 * 1024 * 1024, "x");
  db.run("insert into large values (0, cast(? as text))", value);
  const before = process.memoryUsage().rss;
  for (let at = 1; at <= 10; at++) db.run(`insert into large values (${at}, cast(? as text))`, value);
  expect((process.memoryUsage().rss - before) / 1024 / 1024).toBeLessThan(80);
  expect(db.get("select count(*) as n, min(length(value)) as least from large where typeof(value) = 'text'")).toEqual({
    n: 11,
    least: value.length,
  });
});
