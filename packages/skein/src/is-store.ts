import { existsSync } from "node:fs";
import { join } from "node:path";
import { placeOf } from "./store-address.ts";

/** Tells whether a store exists at an address. Only looks at files, because opening a store would create it. */
export async function isStore(url: string): Promise<boolean> {
  const { scheme, place } = placeOf(url);
  if (place === "" || (scheme !== "sqlite" && scheme !== "file")) return true;
  if (!existsSync(place)) return false;
  return scheme === "file" ? existsSync(join(place, "version")) : hasTables(place);
}

async function hasTables(file: string): Promise<boolean> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(file, { readOnly: true, open: false });
  try {
    database.open();
    return database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'heads'").get() !== undefined;
  } catch {
    // The file is not a readable database. Opening it gives the exact error later.
    return true;
  } finally {
    if (database.isOpen) database.close();
  }
}
