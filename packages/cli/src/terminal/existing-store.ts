import type { Store } from "@skein/core";
import { isStore, openStore, placeOf } from "skein/stores";
import { MissingError } from "./exit-codes.ts";

/**
 * Opens a store to look into it. Opening would make one where there is none, of a name that may be a slip: what was named
 * must be there, and for the usual one, which the first run makes, stands an empty one.
 */
export async function openExisting(named: string | undefined, usual: string): Promise<Store> {
  const url = named ?? usual;
  if (await isStore(url)) return openStore(url);
  if (named === undefined) return openStore("memory:");
  throw new MissingError(`There is no store at ${placeOf(url).place}. Looking makes none: name one that is there.`);
}
