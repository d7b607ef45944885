import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Postgres, createDatabase, startPostgres } from "../../scripts/postgres.ts";
import type { Place, StoreName } from "../../scripts/kill/open-store.ts";

/** Empty locations for stores, all on one disk and one server. They are removed at the end. */
export interface Places {
  fresh(store: StoreName | "memory"): Promise<Place>;
  cleanup(): Promise<void>;
}

export function createPlaces(): Places {
  const folder = mkdtempSync(join(tmpdir(), "skein-bench-"));
  let server: Postgres | undefined;
  let made = 0;

  return {
    async fresh(store) {
      const place = { folder: join(folder, String((made += 1))) };
      if (store !== "postgres") return place;
      // The server's own defaults: fsync and full_page_writes on.
      server ??= await startPostgres({ settings: { max_connections: "200" }, prefix: "skein-bench-pg-" });
      const { url } = await createDatabase(server.url);
      return { ...place, url };
    },
    async cleanup() {
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
