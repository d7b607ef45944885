import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@skein/core";
import { readConfig } from "../../config.ts";
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
  const [, kind = "", place = ""] = /^(sqlite|file):(?:\/\/)?(.+)$/.exec(url) ?? [];
  if (place !== "" && !(await isStore(kind, place)))
    throw new MissingError(`There is no store at ${place}. A question makes none: name one that is there.`);
  const { openStore } = await import("../../open-store.ts");
  return openStore(url);
}

async function isStore(kind: string, place: string): Promise<boolean> {
  if (!existsSync(place)) return false;
  return kind === "file" ? existsSync(join(place, "version")) : hasTables(place);
}

async function hasTables(file: string): Promise<boolean> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(file, { readOnly: true, open: false });
  try {
    database.open();
    return database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'heads'").get() !== undefined;
  } catch {
    // What is no database is told so by who opens it.
    return true;
  } finally {
    if (database.isOpen) database.close();
  }
}
