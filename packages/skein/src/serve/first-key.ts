import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KnownError } from "@skein/protocol";
import type { Keys } from "@skein/server";

/** The admin key for the person who starts a server, and the file with the key. */
export interface FirstKey {
  readonly key: string;
  /** Undefined if the operator set the key. */
  readonly file: string | undefined;
  /** A sentence about an earlier admin key that is still valid although its file was lost. */
  readonly note?: string;
}

/**
 * Returns the key that the operator set. Without such a key, returns the key in the data folder, or makes a key in the
 * data folder. Adds the key to a store that does not know it, so one key works for all stores. A revoked or expired key
 * stays invalid: the operator's key is rejected, and the key of the data folder is replaced.
 */
export async function firstKey(
  keys: Keys,
  options: { apiKey: string | undefined; dataDir: string },
): Promise<FirstKey> {
  const { apiKey, dataDir } = options;
  if (apiKey !== undefined) {
    if (await keys.recognise(apiKey)) return { key: apiKey, file: undefined };
    // A key that somebody revoked, for example because it leaked, must not become valid again.
    if (await keys.has(apiKey))
      throw new KnownError(
        "invalid",
        "SKEIN_API_KEY is a key of this store that was revoked or has expired. Set another key.",
      );
    await keys.make({ name: "SKEIN_API_KEY", scopes: ["admin"], tenant: "default", key: apiKey });
    return { key: apiKey, file: undefined };
  }
  const file = join(dataDir, "admin-key");
  const kept = read(file);
  if (kept !== undefined && (await keys.recognise(kept))) return { key: kept, file };
  // If the store already knows the key, the key was revoked or has expired. It must not become valid again.
  const isReusable = kept !== undefined && KEY.test(kept) && !(await keys.has(kept));
  const first = { name: "first start", scopes: ["admin" as const], tenant: "default" };
  if (isReusable) return { key: await keys.make({ ...first, key: kept }), file };
  const lost = kept === undefined ? (await keys.valid()).filter(({ name }) => name === first.name) : [];
  const key = await keys.make(first);
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
  if (lost.length === 0) return { key, file };
  const revoke = lost.map(({ id }) => `skein keys revoke ${id.slice(0, 12)}`).join("; ");
  const note = `${file} was missing, so a new admin key was made. Earlier admin keys stay valid. To revoke them: ${revoke}`;
  return { key, file, note };
}

/** The format of the keys from `Keys.make`. */
const KEY = /^skein_[\w-]{43}$/;

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}
