import { createSign } from "node:crypto";
import { ModelFailure, parsedOrUndefined } from "@skein/core";
import { isJsonObject } from "@skein/protocol";
import { type Answer, senderOf } from "../http-request.ts";
import { beginningOf, sent } from "../stream-request.ts";

export interface AccessTokenDeps {
  /** The JSON of a service account's key, or an access token. */
  readonly key: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

export interface AccessTokens {
  /** Returns a token. If the signal aborts first, rejects with the signal's reason. */
  current(signal?: AbortSignal): Promise<string>;
}

const GOOGLE = "https://oauth2.googleapis.com/token";
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const LIFETIME_S = 3600;
/** The time limit for Google's response. */
const TIMEOUT_MS = 30_000;
/** A token is replaced this long before it expires. */
const SPARE_MS = 60_000;

/**
 * Returns access tokens of Google. If the key is an access token, returns the key. If the key belongs to a service
 * account, requests tokens with its signature.
 *
 * Concurrent calls share a request. If the signal of a call aborts, the request continues for the other calls.
 */
export function createAccessTokens({ key, fetch, now = Date.now }: AccessTokenDeps): AccessTokens {
  const send = senderOf(fetch);
  const account = accountOf(key);
  let known: { readonly token: string; readonly until: number } | undefined;
  let asking: Promise<string> | undefined;

  async function fetched(from: Account): Promise<string> {
    const at = now();
    const response = await sent(
      from.address,
      {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ grant_type: GRANT, assertion: assertionOf(from, at) }).toString(),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
      { send, rejected, hint: "Skein gets the access token for the model from this address. Check the network." },
    ).catch(asTimeout);
    const said = parsedOrUndefined(await beginningOf(response).catch(asTimeout));
    const token = isJsonObject(said) ? said["access_token"] : undefined;
    if (typeof token !== "string") throw failed("Google's answer has no access token in it.", false);
    const lifetime = isJsonObject(said) ? Number(said["expires_in"] ?? LIFETIME_S) : LIFETIME_S;
    known = { token, until: at + lifetime * 1000 - SPARE_MS };
    return token;
  }

  return {
    async current(signal) {
      if (!account) return key.trim();
      if (known && known.until > now()) return known.token;
      asking ??= fetched(account).finally(() => (asking = undefined));
      return signal ? unlessAborted(asking, signal) : asking;
    },
  };
}

async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
  });
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function asTimeout(error: unknown): never {
  if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
  throw new ModelFailure(
    { code: "connection_error", message: `Google sent no access token within ${TIMEOUT_MS / 1000} seconds.` },
    { retryable: true },
  );
}

interface Account {
  readonly email: string;
  readonly privateKey: string;
  readonly keyId: string | undefined;
  readonly address: string;
}

/** Reads a service account from a key in JSON. Returns undefined for any other key, which is an access token. */
function accountOf(key: string): Account | undefined {
  if (key.trim().endsWith(".json"))
    throw failed(
      "The key of the model is the name of a file. Expected the JSON in that file, or an access token. `skein models add … --key-file` reads a file.",
      false,
    );
  if (!key.trimStart().startsWith("{")) return undefined;
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

/** Returns a signed request for a token, with the account, the scope and the lifetime. */
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
