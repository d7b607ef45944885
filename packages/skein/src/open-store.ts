import { dirname, resolve } from "node:path";
import { type Store, createMemoryStore } from "@skein/core";
import { KnownError, isKnownError } from "@skein/protocol";
import { makeFolder } from "./make-folder.ts";
import { loadPart } from "./optional-parts.ts";

/** Opens a store by its address. A store's code is loaded when it is asked for. `now` says when something is written. */
export async function openStore(url: string, { now = Date.now }: { now?: () => number } = {}): Promise<Store> {
  const { scheme, place } = placeOf(url);
  switch (scheme) {
    case "memory":
      return createMemoryStore({ now });
    case "sqlite": {
      const { createSqliteStore } = await import("@skein/adapters/stores/sqlite");
      return named(pathIn(url, place), (file) => {
        makeFolder(dirname(file));
        return createSqliteStore({ file, now });
      });
    }
    case "file": {
      const { createFilesystemStore } = await import("@skein/adapters/stores/filesystem");
      return named(pathIn(url, place), (folder) => {
        makeFolder(folder);
        return createFilesystemStore({ folder, now });
      });
    }
    case "postgres":
    case "postgresql": {
      const { createPostgresStore } = await loadPart.postgresStore();
      return createPostgresStore({ url, now }).catch((error: unknown) => {
        throw refusal(error) ?? error;
      });
    }
    default:
      throw new KnownError(
        "invalid",
        `"${url}" is no store. Expected memory:, sqlite:FILE, file:FOLDER or postgres://USER@HOST/DATABASE.`,
      );
  }
}

/** Adds the path to an error of a store: the store says what is wrong with the file, but not which file. */
async function named(path: string, open: (path: string) => Store | Promise<Store>): Promise<Store> {
  try {
    return await open(path);
  } catch (error) {
    if (!isKnownError(error) || error.message.includes(path)) throw error;
    throw new KnownError(error.code, `${path}: ${error.message}`, { cause: error });
  }
}

/** A known error for PostgreSQL's rejection of a user, password or database, or of the right to create tables. */
function refusal(error: unknown): KnownError | undefined {
  const { code = "", message } = error as { code?: string; message: string };
  if (!/^(3D000|28000|28P01|42501)$/.test(code)) return undefined;
  return new KnownError("store_unavailable", `PostgreSQL does not let us in: ${message}.`, { cause: error });
}

/** What an address says: which kind of store, and where. `file:///a/b` and `file:a/b` mean the same place. */
export function placeOf(url: string): { readonly scheme: string; readonly place: string } {
  const [scheme = "", ...rest] = url.split(":");
  const place = rest.join(":");
  return { scheme, place: place.startsWith("//") ? place.slice(2) : place };
}

function pathIn(url: string, place: string): string {
  if (place === "") throw new KnownError("invalid", `"${url}" names no place. For example: sqlite:./skein.db`);
  return resolve(place);
}
