import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";
import { KnownError } from "@skein/protocol";

/**
 * Seals secrets with AES-256-GCM before they are stored. The vault has one or more encryption keys, and the first of
 * them seals. A sealed text contains the id of its key, so that earlier keys still open earlier texts.
 */
export interface Vault {
  /** The id of the key that seals: the first 8 digits of its hash. */
  readonly keyId: string;
  readonly keyIds: readonly string[];
  /** `place` says where the text is stored. A sealed text that is copied to another place cannot be opened. */
  seal(text: string, place: string): string;
  /**
   * Opens a sealed text. A text that is not sealed is returned unchanged. Throws `secret_sealed` if this server does
   * not have the key or the text was changed.
   */
  open(sealed: string, place: string): string;
}

const SEALED = /^sealed:v1:([0-9a-f]{8}):([A-Za-z0-9_-]+)$/;
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

export function isSealed(text: string): boolean {
  return SEALED.test(text);
}

/** Returns the id of the key for a sealed text. Undefined if the text is not sealed. */
export function sealedWith(text: string): string | undefined {
  return SEALED.exec(text)?.[1];
}

/**
 * Creates a vault from the keys of the operator: 32 bytes in base64 for each key, separated by commas or line ends. The
 * first key seals.
 */
export function createVault(text: string): Vault {
  const keys = text
    .split(/[\s,]+/)
    .filter((part) => part !== "")
    .map(keyOf);
  const [first] = keys;
  if (!first) throw new KnownError("invalid", `The key for secrets (SKEIN_SECRETS_KEY) is empty. ${HOW}`);
  const byId = new Map(keys.map(({ id, key }) => [id, key]));
  return {
    keyId: first.id,
    keyIds: [...byId.keys()],
    seal(plain, place) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", first.key, iv).setAAD(Buffer.from(place));
      const parts = [iv, cipher.update(plain, "utf8"), cipher.final()];
      return `sealed:v1:${first.id}:${Buffer.concat([...parts, cipher.getAuthTag()]).toString("base64url")}`;
    },
    open(sealed, place) {
      const [, id = "", data = ""] = SEALED.exec(sealed) ?? [];
      if (id === "") return sealed;
      const key = byId.get(id);
      if (!key) throw missingKey(id);
      const bytes = Buffer.from(data, "base64url");
      try {
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(place))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString(
          "utf8",
        );
      } catch {
        throw new KnownError(
          "secret_sealed",
          `The secret at ${place} was changed or moved since it was sealed. Set it again.`,
        );
      }
    },
  };
}

/** Makes the error for a store with a secret whose key this server does not have. */
export function missingKey(id: string): KnownError {
  return new KnownError(
    "secret_sealed",
    `A secret of this store was sealed with the key ${id}, which this server does not have. Add that key to SKEIN_SECRETS_KEY or SKEIN_SECRETS_KEY_FILE. If it is lost, start with SKEIN_SECRETS_KEY_LOST=${id}, and set again what it sealed: webhooks, and secrets of sessions and services.`,
  );
}

const HOW = "Expected 32 random bytes in base64, as `openssl rand -base64 32` prints them.";

function keyOf(text: string): { readonly id: string; readonly key: Uint8Array } {
  const key = Buffer.from(text, "base64");
  if (key.length !== KEY_BYTES || !/^[A-Za-z0-9+/_-]+=*$/.test(text))
    throw new KnownError("invalid", `A key for secrets (SKEIN_SECRETS_KEY) has ${key.length} bytes. ${HOW}`);
  return { id: hash("sha256", key, "hex").slice(0, 8), key };
}
