import type { Store } from "@skein/core";
import { isStore, openStore, placeOf } from "skein/stores";
import { MissingError } from "./exit-codes.ts";

/**
 * Opens a store that exists. Never creates a store, because the address may be misspelt. A store that the caller named
 * must exist. Instead of a default store that does not exist yet, opens an empty store in memory.
 */
export async function openExisting(named: string | undefined, usual: string): Promise<Store> {
  const url = named ?? usual;
  if (await isStore(url)) return openStore(url);
  if (named === undefined) return openStore("memory:");
  throw new MissingError(
    `There is no store at ${placeOf(url).place}. Check the address: this command does not make a store.`,
  );
}
