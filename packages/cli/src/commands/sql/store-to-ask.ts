import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@skein/core";
import { readConfig } from "skein/config";
import { isStore, openStore, placeOf } from "skein/stores";
import { MissingError } from "../../terminal/exit-codes.ts";

/**
 * Opens the store that was named, or the one in the data folder if there is one. Opening one writes into what is empty or
 * somebody else's, and a question makes no store: what is none is refused before.
 */
export async function openStoreToAsk(given: string | undefined): Promise<Store | undefined> {
  const { storeUrl, dataDir } = readConfig();
  const file = join(dataDir, "skein.db");
  const url = given ?? storeUrl ?? (existsSync(file) ? `sqlite:${file}` : undefined);
  if (url === undefined) return undefined;
  if (!(await isStore(url)))
    throw new MissingError(
      `There is no store at ${placeOf(url).place}. A question makes none: name one that is there.`,
    );
  return openStore(url);
}
