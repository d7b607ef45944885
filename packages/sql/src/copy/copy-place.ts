/**
 * Finds the file of the cached copy of some data directories. It is a DuckDB file in Skein's cache folder, which only
 * its owner can read.
 *
 * The file name contains a hash of everything that the copy depends on. So a copy of another version is another file.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { PRICES_VERSION } from "@skein/protocol/prices";
import { PIECES, READ_PIECES } from "../tables/pieces.ts";

export interface CopyPlace {
  readonly folder: string;
  /** The file of the copy. It is only replaced, and never changed. */
  readonly file: string;
  /** The lock file of a build. */
  readonly lock: string;
}

/** The version of the copy. Increase it after a change that the definitions of the tables do not show. */
const VERSION = 8;

/** Returns the files of a copy. `roots` must be real paths, as `discover` returns them. */
export function copyPlace(folder: string, roots: readonly string[]): CopyPlace {
  const tables = createHash("sha256").update(JSON.stringify([VERSION, PIECES, READ_PIECES, PRICES_VERSION]));
  const data = createHash("sha256").update(JSON.stringify(roots.toSorted()));
  const name = `copy-${data.digest("hex").slice(0, 12)}-${tables.digest("hex").slice(0, 12)}`;
  return { folder, file: join(folder, `${name}.duckdb`), lock: join(folder, `${name}.lock`) };
}
