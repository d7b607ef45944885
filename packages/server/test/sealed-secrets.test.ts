/** Encrypted secrets, on a real server and a real store. */
import { randomBytes } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createVault } from "@skein/core";
import { expect, test } from "vitest";
import { folder, testServer } from "./world.ts";

/** Returns every byte of the store's files. */
function bytesOf(place: string): string {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"))
    .join("");
}

test("the secret of a webhook is in no file of the store, and a server without the encryption key does not start", async () => {
  const place = folder();
  const store = `sqlite:${join(place, "skein.db")}`;
  const vault = createVault(randomBytes(32).toString("base64"));
  const url = "https://example.com/hook";
  const first = await testServer({ store, secrets: { vault, lost: [] } });
  const made = await first.call(
    "POST",
    "/v1/webhooks",
    { url, events: ["session.completed"] },
    { "idempotency-key": "w" },
  );
  const secret = String(made.body["secret"]);
  expect(secret).toMatch(/^whsec_/);
  expect(
    (await first.call("POST", "/v1/webhooks", { url, events: ["session.completed"] }, { "idempotency-key": "w" })).body[
      "secret"
    ],
  ).toBe(secret);
  await first.close();
  expect(bytesOf(place)).toContain(url);
  expect(bytesOf(place)).not.toContain(secret);
  await expect(testServer({ store })).rejects.toThrow(
    `sealed with the key ${vault.keyId}, which this server does not have`,
  );
  const again = await testServer({ store, secrets: { vault, lost: [] } });
  const { body } = await again.call("GET", "/v1/webhooks");
  expect(body.data).toHaveLength(1);
});
