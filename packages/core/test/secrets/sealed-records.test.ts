import { randomBytes } from "node:crypto";
import { checkSealedWith, createMemoryStore, createVault, resealRecords, sealedRecords } from "@skein/core";
import { expect, test } from "vitest";
import { createSecrets } from "../../src/secrets/secrets.ts";

const key = (): string => randomBytes(32).toString("base64");

/** Returns everything in a store, as a thief would read it. */
async function stolen(records: ReturnType<typeof createMemoryStore>["records"]): Promise<string> {
  const all: unknown[] = [];
  for await (const record of records.scan()) all.push(record);
  return JSON.stringify(all);
}

test("secrets are sealed in the store, and readable with the key; other fields stay readable", async () => {
  const { records } = createMemoryStore();
  const sealed = sealedRecords(records, createVault(key()));
  await sealed.put([
    { tenant: "a", kind: "webhook", id: "w", value: { url: "https://a.test", secret: "whsec_one" } },
    { tenant: "a", kind: "claude_session", id: "s", value: { secrets: { TOKEN: "two" }, bypass: false } },
    { tenant: "a", kind: "agent", id: "g", value: { secret: "not one of ours" } },
  ]);
  const reference = await createSecrets(sealed).put("a", "provider", "three");
  expect(reference).toBe("secret:provider");
  const kept = await stolen(records);
  for (const text of ["whsec_one", "two", "three"]) expect(kept).not.toContain(text);
  for (const text of ["https://a.test", "not one of ours"]) expect(kept).toContain(text);
  expect((await sealed.get("a", "webhook", "w"))?.value).toEqual({ url: "https://a.test", secret: "whsec_one" });
  expect((await sealed.list({ tenant: "a", kind: "claude_session" })).items[0]?.value).toEqual({
    secrets: { TOKEN: "two" },
    bypass: false,
  });
  expect(await createSecrets(sealed).get("a", reference)).toBe("three");
  await expect(createSecrets(sealed).get("b", reference)).rejects.toThrow('There is no secret "provider"');
  expect((await createSecrets(sealed).list("a")).map(({ name }) => name)).toEqual(["provider"]);
});

test.each(["json:abc", "json:123", "json:", '{"a":1}', ""])("the secret %j is read as it was written", async (text) => {
  const { records } = createMemoryStore();
  const secrets = createSecrets(sealedRecords(records, createVault(key())));
  expect(await secrets.get("a", await secrets.put("a", "provider", text))).toBe(text);
});

test("new secrets are sealed with the first key, and older keys can still read old secrets; after everything is sealed again, the old key is not needed", async () => {
  const { records } = createMemoryStore();
  const [old, next] = [key(), key()];
  await createSecrets(records).put("a", "clear", "in clear");
  await createSecrets(sealedRecords(records, createVault(old))).put("a", "older", "with the old key");
  const both = createVault(`${next},\n${old}`);
  expect(await createSecrets(sealedRecords(records, both)).get("a", "older")).toBe("with the old key");
  expect(await resealRecords(records, both)).toBe(2);
  expect(await resealRecords(records, both)).toBe(0);
  const alone = createSecrets(sealedRecords(records, createVault(next)));
  expect([await alone.get("a", "clear"), await alone.get("a", "older")]).toEqual(["in clear", "with the old key"]);
});

test("a lost key is named in the error, before a server starts and when a secret is read", async () => {
  const { records } = createMemoryStore();
  const vault = createVault(key());
  await checkSealedWith(records, vault);
  await createSecrets(sealedRecords(records, vault)).put("a", "provider", "text");
  const sentence = `was sealed with the key ${vault.keyId}, which this server does not have.`;
  for (const other of [undefined, createVault(key())]) {
    await expect(checkSealedWith(records, other)).rejects.toThrow(sentence);
    await expect(createSecrets(sealedRecords(records, other)).get("a", "provider")).rejects.toThrow(sentence);
  }
  // The operator declares the key lost: the server starts, and the secrets can be set again.
  await checkSealedWith(records, undefined, [vault.keyId]);
  const without = createSecrets(sealedRecords(records, undefined));
  await without.put("a", "provider", "new text");
  expect(await without.get("a", "provider")).toBe("new text");
});

test("a sealed secret that was changed, or copied to another tenant, is not opened", async () => {
  const { records } = createMemoryStore();
  const sealed = sealedRecords(records, createVault(key()));
  await createSecrets(sealed).put("a", "provider", "text of a");
  const record = await records.get("a", "secret", "provider");
  const { text } = (record as unknown as { value: { text: string } }).value;
  await records.put([{ tenant: "b", kind: "secret", id: "provider", value: { text } }]);
  // Changes the second letter from the end, because all bits of this letter are data. Some bits of the last letter are
  // padding.
  const changed = `${text.slice(0, -2)}${text.at(-2) === "A" ? "B" : "A"}${text.at(-1)}`;
  await records.put([{ tenant: "a", kind: "secret", id: "provider", value: { text: changed } }]);
  for (const tenant of ["a", "b"])
    await expect(createSecrets(sealed).get(tenant, "provider")).rejects.toThrow(
      "was changed or moved since it was sealed",
    );
});

test.each([
  ["", "is empty"],
  ["short", "has 3 bytes"],
  [randomBytes(16).toString("base64"), "has 16 bytes"],
])("the key %j is rejected with what was expected", (text, sentence) => {
  expect(() => createVault(text)).toThrow(sentence);
  expect(() => createVault(text)).toThrow("openssl rand -base64 32");
});
