import { join } from "node:path";
import { inject } from "vitest";
import { createDatabase } from "../../../scripts/postgres.ts";

/** The store of a test to which it makes no difference. SKEIN_TEST_STORE names another one, to see that this is so. */
export async function anyStore(folder: string): Promise<string> {
  const kind = process.env["SKEIN_TEST_STORE"] ?? "memory";
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
      throw new Error(`SKEIN_TEST_STORE is memory, sqlite, file or postgres, not "${kind}".`);
  }
}
