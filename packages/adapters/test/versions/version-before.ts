import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { pathToFileURL } from "node:url";
import type { createPostgresStore } from "@skein/adapters/stores/postgres";

/**
 * Loads the PostgreSQL store of an earlier schema. Its file also contains the code of core that the store used. `npm
 * run freeze` writes the file for today's schema. A new migration is tested against the file. Schema 7 had no partitions
 * and no sums, schema 16 had no times of events.
 */
export async function storeBefore(schema: 7 | 16 = 7): Promise<typeof createPostgresStore> {
  const text = gunzipSync(readFileSync(new URL(`schema-${schema}.mjs.gz`, import.meta.url))).toString();
  const pg = pathToFileURL(createRequire(import.meta.url).resolve("pg")).href;
  const module = text.replace('from"pg"', `from${JSON.stringify(pg)}`);
  const url = `data:text/javascript;base64,${Buffer.from(module).toString("base64")}`;
  return ((await import(url)) as { createPostgresStore: typeof createPostgresStore }).createPostgresStore;
}
