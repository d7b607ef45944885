import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { KnownError } from "@skein/protocol";

/** A new private key with which a Restate cluster signs its calls, as PEM. */
export function newIdentity(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** The public key of a Restate cluster in the form that workers check: `publickeyv1_…`. */
export function identityKeyOf(pem: string): string {
  // The raw key is the end of its DER form.
  const raw = createPublicKey(privateKeyIn(pem)).export({ type: "spki", format: "der" }).subarray(-32);
  return `publickeyv1_${base58(raw)}`;
}

function privateKeyIn(pem: string) {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // The text is not a key. The error is the same as for a key of another type.
  }
  throw new KnownError("invalid", "This is not a private ed25519 key in PEM format.");
}

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Bytes in base58, the encoding of Restate's keys. */
function base58(bytes: Uint8Array): string {
  let number = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = `${ALPHABET[Number(number % 58n)]}${text}`;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(zeros === -1 ? bytes.length : zeros) + text;
}
