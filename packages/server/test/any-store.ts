import { join } from "node:path";
import { inject } from "vitest";
import { createDatabase } from "../../../scripts/postgres.ts";

/** The store for tests that work with any store: in memory, unless SKEIN_TEST_STORE names another kind. */
export function anyStore(folder: string): Promise<string> {
  return storeOf(process.env["SKEIN_TEST_STORE"] ?? "memory", folder);
}

/** The address of a new, empty store of this kind. A store made of files is placed in this folder. */
export async function storeOf(kind: string, folder: string): Promise<string> {
  switch (kind) {
    case "memory":
      return "memory:";
    case "sqlite":
      return `sqlite:${join(folder, "skein.db")}`;
    case "file":
      return `file:${join(folder, "store")}`;
    case "postgres": {
      const server = inject("postgres");
      return (await createDatabase(server.url, { template: server.template })).url;
    }
    default:
      throw new Error(`A store for tests is memory, sqlite, file or postgres, not "${kind}".`);
  }
}
