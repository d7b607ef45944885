import { join } from "node:path";
import { type Store, createMemoryStore } from "@skein/core";

/** The stores that keep something, by the name that the commands use. */
export const STORES = ["sqlite", "filesystem", "postgres"] as const;
export type StoreName = (typeof STORES)[number];

/** Where a store is: a folder of its own, or the address of a database. */
export interface Place {
  readonly folder: string;
  readonly url?: string;
  /** How many connections to the database. */
  readonly poolSize?: number;
}

/** Opens a store by name. A store's code is loaded when it is asked for, so that one process holds only its own. */
export async function openStore(name: StoreName | "memory", place: Place): Promise<Store> {
  switch (name) {
    case "memory":
      return createMemoryStore();
    case "sqlite": {
      const { createSqliteStore } = await import("@skein/adapters/stores/sqlite");
      return createSqliteStore({ file: join(place.folder, "skein.db") });
    }
    case "filesystem": {
      const { createFilesystemStore } = await import("@skein/adapters/stores/filesystem");
      return createFilesystemStore({ folder: place.folder });
    }
    case "postgres": {
      if (place.url === undefined) throw new Error("The postgres store needs the address of a database.");
      const { createPostgresStore } = await import("@skein/adapters/stores/postgres");
      const { url, poolSize } = place;
      return createPostgresStore({ url, ...(poolSize !== undefined && { poolSize }) });
    }
  }
}
