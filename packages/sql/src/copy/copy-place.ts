/**
 * The place of the cached copy of some data directories: one DuckDB file in Skein's cache folder, readable only by its
 * owner.
 *
 * Its name contains a hash of everything that a copy depends on, so that a copy of another version is another file.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { PRICES_VERSION } from "@skein/protocol/prices";
import { PIECES, READ_PIECES } from "../tables/pieces.ts";

export interface CopyPlace {
  readonly folder: string;
  /** The copy. It is never changed, only replaced. */
  readonly file: string;
  /** The file that is locked while the next copy is built. */
  readonly lock: string;
}

/** Increase it when the copy changes in a way that the definitions of its tables do not show. */
const VERSION = 8;

/** The roots must be real paths, as `discover` returns them. */
export function copyPlace(folder: string, roots: readonly string[]): CopyPlace {
  const tables = createHash("sha256").update(JSON.stringify([VERSION, PIECES, READ_PIECES, PRICES_VERSION]));
  const data = createHash("sha256").update(JSON.stringify(roots.toSorted()));
  const name = `copy-${data.digest("hex").slice(0, 12)}-${tables.digest("hex").slice(0, 12)}`;
  return { folder, file: join(folder, `${name}.duckdb`), lock: join(folder, `${name}.lock`) };
}
