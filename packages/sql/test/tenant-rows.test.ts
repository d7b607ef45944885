import { existsSync, readdirSync } from "node:fs";
import { createMemoryStore } from "@skein/core";
import { onTestFinished, expect, test } from "vitest";
import { createDatabaseWriter } from "../src/sandbox/database-writer.ts";
import { createTenantRows } from "../src/sandbox/tenant-rows.ts";
import { folder } from "./sql.ts";

function tenants() {
  const writer = createDatabaseWriter();
  onTestFinished(() => writer.close());
  const place = folder();
  const keep = () =>
    createTenantRows({ store: createMemoryStore(), tenant: "acme", folder: place, writer, now: Date.now });
  return { keep, files: () => readdirSync(place).filter((name) => name.startsWith("rows-")) };
}

test("a tenant that asks again while its old database is removed gets a database that stays", async () => {
  const { keep, files } = tenants();
  const old = keep();
  const before = old.current();
  const removed = old.remove();
  const rows = keep();
  const file = await rows.current();
  await before;
  await removed;
  expect(existsSync(file)).toBe(true);
  expect(await rows.current()).toBe(file);
  await rows.remove();
  expect(files()).toEqual([]);
});

test("a tenant's database is removed after every caller that waits for it has it", async () => {
  const { keep, files } = tenants();
  const rows = keep();
  const waiting = [rows.current(), rows.current()].map(async (file) => existsSync(await file));
  await rows.remove();
  expect(await Promise.all(waiting)).toEqual([true, true]);
  expect(files()).toEqual([]);
});
