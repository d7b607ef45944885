/** How requests to Vertex AI get their access token. */
import { createVerify, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createVertexSender } from "@skein/adapters/models/vertex";
import { createAccessTokens } from "../src/models/vertex/access-token.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** A token server that records its requests. */
async function tokenServer(answer: { readonly status: number; readonly body: object }) {
  const asked: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    const reply = async () => {
      asked.push(new URLSearchParams(await text(request)));
      response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(answer.body));
    };
    void reply();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  const key = JSON.stringify({
    type: "service_account",
    client_email: "skein@p-1.iam.gserviceaccount.com",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    private_key_id: "k1",
    token_uri: address,
  });
  return { asked, address, key };
}

test("a token is requested with a service account's signature, and used until a minute before it expires", async () => {
  const { asked, address, key } = await tokenServer({ status: 200, body: { access_token: "t", expires_in: 600 } });
  let now = 1_000_000_000_000;
  const tokens = createAccessTokens({ key, now: () => now });
  expect([await tokens.current(), await tokens.current()]).toEqual(["t", "t"]);
  expect(asked).toHaveLength(1);
  const [head = "", claims = "", signature = ""] = (asked[0]?.get("assertion") ?? "").split(".");
  expect(createVerify("RSA-SHA256").update(`${head}.${claims}`).verify(publicKey, signature, "base64url")).toBe(true);
  expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toEqual({
    iss: "skein@p-1.iam.gserviceaccount.com",
    scope: "https://www.googleapis.com/auth/cloud-platform",
    aud: address,
    iat: 1_000_000_000,
    exp: 1_000_003_600,
  });
  now += 540_000;
  await tokens.current();
  expect(asked).toHaveLength(2);
});

test("the error for a rejected token or an invalid service account key gives the reason", async () => {
  const { key } = await tokenServer({ status: 400, body: { error_description: "Invalid JWT Signature" } });
  await expect(createAccessTokens({ key }).current()).rejects.toMatchObject({
    retryable: false,
    message: "Google gave no access token for the service account: Invalid JWT Signature.",
  });
  expect(() => createAccessTokens({ key: '{"type":"external_account"}' })).toThrow("expected client_email");
});

test("concurrent calls share one request for a token", async () => {
  const { asked, key } = await tokenServer({ status: 200, body: { access_token: "t" } });
  const tokens = createAccessTokens({ key });
  expect(await Promise.all([tokens.current(), tokens.current()])).toEqual(["t", "t"]);
  expect(asked).toHaveLength(1);
});

test("an abort ends a request that waits for its token", async () => {
  const { key } = await tokenServer({ status: 200, body: {} });
  let asked = (): void => {};
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  const waits: typeof fetch = () => (asked(), new Promise<Response>(() => {}));
  const send = createVertexSender({ region: "global", project: "p-1", key, fetch: waits });
  const stop = new AbortController();
  const body = { model: "claude-sonnet-5-5", max_tokens: 1, messages: [] };
  const sending = send({ body, encoded: () => new Uint8Array(), headers: {}, signal: stop.signal });
  await isAsked;
  stop.abort(new Error("Enough."));
  await expect(sending).rejects.toThrow("Enough.");
});

test("if the name of a file is given instead of a key, the error says what is expected", () => {
  expect(() => createAccessTokens({ key: "/home/me/account.json" })).toThrow("Expected the JSON in that file");
});
