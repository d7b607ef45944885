import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Store, type Vault, checkSealedWith, createVault, sealedRecords } from "@skein/core";
import { KnownError } from "@skein/protocol";
import type { Config } from "../config.ts";

/** The vault, which encrypts the secrets in the store. Without a vault, the store has the secrets unencrypted. */
export interface SecretsSettings {
  readonly vault: Vault | undefined;
  /** Ids of lost keys. A secret that was encrypted with a lost key must be set again. */
  readonly lost: readonly string[];
}

export function secretsSettings({ key, file, lost = "" }: Config["secrets"], folder: string): SecretsSettings {
  const ids = lost.split(",").filter((id) => id !== "");
  if (key !== undefined && file !== undefined)
    throw new KnownError("invalid", "SKEIN_SECRETS_KEY and SKEIN_SECRETS_KEY_FILE are both set. Set one of them.");
  const text = file === undefined ? key : read(resolve(folder, file));
  return { vault: text === undefined ? undefined : createVault(text), lost: ids };
}

/** Returns the store with encrypted secrets. Throws if the vault cannot decrypt the secrets of the store. */
export async function withSealedSecrets<Opened extends Store>(
  store: Opened,
  settings?: SecretsSettings,
): Promise<Opened> {
  const { vault, lost = [] } = settings ?? {};
  await checkSealedWith(store.records, vault, lost);
  return { ...store, records: sealedRecords(store.records, vault) };
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === "ENOENT" ? "The file does not exist." : String(error);
    throw new KnownError("invalid", `SKEIN_SECRETS_KEY_FILE is ${file}. ${why}`);
  }
}
