import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest();

/**
 * Whether a request has the AWS signature (version 4) for this secret. The signature is computed from the
 * specification, without Skein's code.
 */
export function isSignedWith(secret: string, request: IncomingMessage): boolean {
  const given = request.headers.authorization ?? "";
  const [, day = "", region = "", service = ""] = /Credential=[^/]+\/(\d+)\/([^/]+)\/([^/]+)\//.exec(given) ?? [];
  const signedHeaders = /SignedHeaders=([^,]+)/.exec(given)?.[1] ?? "";
  const headers = signedHeaders.split(";").map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const payload = String(request.headers["x-amz-content-sha256"]);
  const canonical = [request.method, request.url, "", headers.join(""), signedHeaders, payload].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${String(request.headers["x-amz-date"])}\n${scope}\n${sha256(canonical)}`;
  const key = [region, service, "aws4_request"].reduce<ReturnType<typeof hmac>>(hmac, hmac(`AWS4${secret}`, day));
  return given.endsWith(`Signature=${hmac(key, text).toString("hex")}`);
}
