import { join } from "node:path";
import { type Store, createMemoryStore } from "@skein/core";

/** The durable stores, by the names that the commands use. */
export const STORES = ["sqlite", "filesystem", "postgres"] as const;
export type StoreName = (typeof STORES)[number];

/** The folder of a store, or the address of its database. */
export interface Place {
  readonly folder: string;
  readonly url?: string;
  /** The number of connections to the database. */
  readonly poolSize?: number;
}

/** Opens a store by name. The code of a store is loaded when it is used, so that a process loads only one. */
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
