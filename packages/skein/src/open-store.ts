import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type FileStore, type ReadRecords, type Store, createMemoryStore, keepLargeTexts } from "@skein/core";
import { KnownError, isKnownError } from "@skein/protocol";
import { readConfig } from "./config.ts";
import { makeFolder } from "./make-folder.ts";
import { openFiles } from "./open-files.ts";
import { loadPart } from "./optional-parts.ts";
import { placeOf } from "./store-address.ts";

export interface OpenStoreOptions {
  /** The clock for the times of events. */
  readonly now?: () => number;
  /**
   * The storage for large texts of new events. Without it, new large texts stay in the store, and earlier large texts
   * are read from `SKEIN_FILES`.
   */
  readonly files?: FileStore | undefined;
  readonly report?: (error: unknown) => void;
}

/** Opens a store by its address. Loads only the code for this kind of store. */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  const { now = Date.now, files, report } = options;
  return keepLargeTexts({ store: await openPlainStore(url, now), files, readFrom: configuredFiles, report });
}

async function configuredFiles(): Promise<FileStore | undefined> {
  const { filesUrl, s3 } = readConfig();
  return filesUrl === undefined ? undefined : openFiles(filesUrl, s3);
}

async function openPlainStore(url: string, now: () => number): Promise<Store> {
  const { scheme, place } = placeOf(url);
  switch (scheme) {
    case "memory":
      return createMemoryStore({ now });
    case "sqlite": {
      const { createSqliteStore } = await import("@skein/adapters/stores/sqlite");
      return named(pathIn(url, place), (file) => {
        makeStoreFolder(dirname(file), url);
        return createSqliteStore({ file, now });
      });
    }
    case "file": {
      const { createFilesystemStore } = await import("@skein/adapters/stores/filesystem");
      return named(pathIn(url, place), (folder) => {
        makeStoreFolder(folder, url);
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
        `"${url}" is not a store. Expected memory:, sqlite:FILE, file:FOLDER or postgres://USER@HOST/DATABASE.`,
      );
  }
}

/**
 * Opens the records of a store only for reading, also while a server uses it. Returns undefined if there is no store at
 * the address yet.
 */
export async function readRecords(url: string): Promise<ReadRecords | undefined> {
  const { scheme, place } = placeOf(url);
  switch (scheme) {
    case "sqlite": {
      const { readSqliteRecords } = await import("@skein/adapters/stores/sqlite");
      const path = pathIn(url, place);
      return existsSync(path) ? named(path, readSqliteRecords) : undefined;
    }
    case "file": {
      const { readFolderRecords } = await import("@skein/adapters/stores/filesystem");
      const path = pathIn(url, place);
      return existsSync(path) ? named(path, readFolderRecords) : undefined;
    }
    case "postgres":
    case "postgresql": {
      const { readPostgresRecords } = await loadPart.postgresStore();
      return readPostgresRecords(url).catch((error: unknown) => {
        throw refusal(error) ?? error;
      });
    }
    default: {
      const store = await openPlainStore(url, Date.now);
      return { records: store.records, isOlder: false, close: () => store.close() };
    }
  }
}

/** Creates the folder of a store, but not its parents, because a wrong address must not make a tree of folders. */
function makeStoreFolder(folder: string, url: string): void {
  const parent = dirname(folder);
  if (!existsSync(folder) && !existsSync(parent))
    throw new KnownError(
      "invalid",
      `"${url}": the folder ${parent} does not exist. Create it, or correct the address.`,
    );
  makeFolder(folder);
}

/** Adds the path of the file to a store's error. */
async function named<Opened>(path: string, open: (path: string) => Opened | Promise<Opened>): Promise<Opened> {
  try {
    return await open(path);
  } catch (error) {
    if (!isKnownError(error) || error.message.includes(path)) throw error;
    throw new KnownError(error.code, `${path}: ${error.message}`, { cause: error });
  }
}

/**
 * Returns the error if PostgreSQL rejects the user, the password or the database. Also returns it if the user may not
 * create tables.
 */
function refusal(error: unknown): KnownError | undefined {
  const { code = "", message } = error as { code?: string; message: string };
  if (!/^(3D000|28000|28P01|42501)$/.test(code)) return undefined;
  return new KnownError("store_unavailable", `PostgreSQL rejected the login: ${message}.`, { cause: error });
}

function pathIn(url: string, place: string): string {
  if (place === "") throw new KnownError("invalid", `"${url}" has no path. Expected for example sqlite:./skein.db.`);
  return resolve(place);
}
