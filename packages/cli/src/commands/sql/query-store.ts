import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@skein/core";
import { readConfig } from "skein/config";
import { isStore, openStore, placeOf } from "skein/stores";
import { MissingError } from "../../terminal/exit-codes.ts";

/**
 * Opens the named store, or the store in the data folder if it exists. Rejects a missing store, because opening it
 * would create it.
 */
export async function openStoreToAsk(given: string | undefined): Promise<Store | undefined> {
  const { storeUrl, dataDir } = readConfig();
  const file = join(dataDir, "skein.db");
  const url = given ?? storeUrl ?? (existsSync(file) ? `sqlite:${file}` : undefined);
  if (url === undefined) return undefined;
  if (!(await isStore(url)))
    throw new MissingError(
      `There is no store at ${placeOf(url).place}. This command does not create one: name an existing store.`,
    );
  return openStore(url);
}
