/**
 * An idempotency key for a message. `crypto.randomUUID` is missing on pages that come over plain HTTP from another
 * machine, for example on a phone in the same network.
 */
export function messageKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
