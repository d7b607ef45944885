/**
 * Returns the headers of a message to a webhook, in the format of Standard Webhooks. The signature covers the id, the
 * time and the body. Its key is the secret without the prefix `whsec_`.
 */
export async function webhookHeaders({
  secret,
  id,
  at,
  body,
}: {
  readonly secret: string;
  readonly id: string;
  /** Unix time in milliseconds. */
  readonly at: number;
  readonly body: string;
}): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1000));
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (letter) => letter.charCodeAt(0));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
  const signed = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(`${id}.${timestamp}.${body}`));
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${btoa(String.fromCharCode(...new Uint8Array(signed)))}`,
  };
}
