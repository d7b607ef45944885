import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStore } from "@skein/core";
import { createKeys } from "@skein/server";
import { expect, onTestFinished, test } from "vitest";
import { firstKey } from "../../src/serve/first-key.ts";

function dataFolder(): { readonly apiKey: undefined; readonly dataDir: string } {
  const dataDir = mkdtempSync(join(tmpdir(), "skein-first-key-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  return { apiKey: undefined, dataDir };
}

const newKeys = () => createKeys({ records: createMemoryStore().records });

test("a second store accepts the admin key of the data folder, and the key is not replaced", async () => {
  const options = dataFolder();
  const [one, other] = [newKeys(), newKeys()];
  const first = await firstKey(one, options);
  const second = await firstKey(other, options);
  expect(second).toEqual(first);
  expect(await firstKey(one, options)).toEqual(first);
  expect(await other.recognise(first.key)).toMatchObject({ name: "first start", scopes: ["admin"] });
});

test("if the admin key was revoked, the next start makes a new key", async () => {
  const options = dataFolder();
  const keys = newKeys();
  const { key, file = "" } = await firstKey(keys, options);
  await keys.revoke("first start");
  const next = await firstKey(keys, options);
  expect(next.key).not.toBe(key);
  expect(readFileSync(file, "utf8")).toBe(`${next.key}\n`);
  expect([await keys.recognise(key), (await keys.recognise(next.key))?.scopes]).toEqual([undefined, ["admin"]]);
});

test("if the text in the file admin-key is not a key, the text is not accepted and a new key is made", async () => {
  const options = dataFolder();
  writeFileSync(join(options.dataDir, "admin-key"), "changeme\n");
  const keys = newKeys();
  const { key } = await firstKey(keys, options);
  expect([key === "changeme", await keys.recognise("changeme")]).toEqual([false, undefined]);
});

test("a revoked key in SKEIN_API_KEY stays invalid: the next start is rejected", async () => {
  const options = { ...dataFolder(), apiKey: "an operator's key" };
  const keys = newKeys();
  expect(await firstKey(keys, options)).toEqual({ key: options.apiKey, file: undefined });
  expect(await firstKey(keys, options)).toEqual({ key: options.apiKey, file: undefined });
  await keys.revoke("SKEIN_API_KEY");
  await expect(firstKey(keys, options)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("revoked or has expired"),
  });
  expect(await keys.recognise(options.apiKey)).toBeUndefined();
});

test("if the file of the admin key was lost, the next start says that the earlier key stays valid, and how to revoke it", async () => {
  const options = dataFolder();
  const keys = newKeys();
  const { key, file = "", note } = await firstKey(keys, options);
  expect(note).toBeUndefined();
  rmSync(file);
  const [, id = ""] = /skein keys revoke (\S+)$/.exec((await firstKey(keys, options)).note ?? "") ?? [];
  await keys.revoke(id);
  expect(await keys.recognise(key)).toBeUndefined();
  expect((await firstKey(keys, options)).note).toBeUndefined();
});
