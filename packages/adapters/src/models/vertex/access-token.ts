import { createSign } from "node:crypto";
import { ModelFailure, parsedOrUndefined } from "@skein/core";
import { isJsonObject } from "@skein/protocol";
import { type Answer, type Sender, httpRequest } from "../http-request.ts";
import { sent } from "../stream-request.ts";

export interface AccessTokenDeps {
  /** The JSON of a service account's key, or an access token. */
  readonly key: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

const GOOGLE = "https://oauth2.googleapis.com/token";
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const LIFETIME_S = 3600;
/** A token that expires sooner than this is replaced before it is used. */
const SPARE_MS = 60_000;

/** Access tokens of Google: the given one, or tokens that are requested with the signature of a service account. */
export function createAccessTokens({ key, fetch, now = Date.now }: AccessTokenDeps): { current(): Promise<string> } {
  const send: Sender = fetch ?? httpRequest;
  const account = key.trimStart().startsWith("{") ? accountOf(key) : undefined;
  let known: { readonly token: string; readonly until: number } | undefined;

  async function fetched(): Promise<string> {
    if (!account) return key;
    const at = now();
    const response = await sent(
      account.address,
      {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ grant_type: GRANT, assertion: assertionOf(account, at) }).toString(),
      },
      { send, rejected, hint: "Google gives no access token without it." },
    );
    const said = parsedOrUndefined(await response.text());
    const token = isJsonObject(said) ? said["access_token"] : undefined;
    if (typeof token !== "string") throw failed("Google's answer has no access token in it.", false);
    const lifetime = isJsonObject(said) ? Number(said["expires_in"] ?? LIFETIME_S) : LIFETIME_S;
    known = { token, until: at + lifetime * 1000 - SPARE_MS };
    return token;
  }

  return { current: async () => (known && known.until > now() ? known.token : fetched()) };
}

interface Account {
  readonly email: string;
  readonly privateKey: string;
  readonly keyId: string | undefined;
  readonly address: string;
}

function accountOf(key: string): Account | undefined {
  const said = parsedOrUndefined(key);
  const { client_email, private_key, private_key_id, token_uri = GOOGLE } = isJsonObject(said) ? said : {};
  if (typeof client_email !== "string" || typeof private_key !== "string" || typeof token_uri !== "string")
    throw failed(
      "The key of the model is JSON, but not the key of a service account: expected client_email and private_key.",
      false,
    );
  const keyId = typeof private_key_id === "string" ? private_key_id : undefined;
  return { email: client_email, privateKey: private_key, keyId, address: token_uri };
}

/** What the service account signs: who asks, for what, until when. */
function assertionOf({ email, privateKey, keyId, address }: Account, at: number): string {
  const seconds = Math.floor(at / 1000);
  const head = { alg: "RS256", typ: "JWT", ...(keyId !== undefined && { kid: keyId }) };
  const claims = { iss: email, scope: SCOPE, aud: address, iat: seconds, exp: seconds + LIFETIME_S };
  const text = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  try {
    return `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey, "base64url")}`;
  } catch {
    throw failed("The private_key in the key of the model cannot be read. Expected the PEM of an RSA key.", false);
  }
}

function rejected({ status }: Answer, text: string): ModelFailure {
  const said = parsedOrUndefined(text);
  const why = isJsonObject(said) ? (said["error_description"] ?? said["error"]) : undefined;
  const reason = typeof why === "string" ? why : `status ${status}`;
  return failed(`Google gave no access token for the service account: ${reason}.`, status === 429 || status >= 500);
}

function failed(message: string, retryable: boolean): ModelFailure {
  return new ModelFailure({ code: "authentication_error", message }, { retryable });
}
