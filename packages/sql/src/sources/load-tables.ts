/**
 * Fills tables with rows from sources that DuckDB cannot read. A source is imported when the first statement needs it,
 * because most statements need no source and start faster without the import.
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import type { Store } from "@skein/core";
import type { LibraryConfig } from "@skein/history/discover";
import type { Load } from "../plan/statement.ts";

export interface SourceDeps {
  readonly connection: DuckDBConnection;
  /** Where Claude Code's files are. */
  readonly library: LibraryConfig;
  /** A folder for temporary files, which the caller removes. */
  readonly folder: string;
  /** Opens the platform's store. Returns undefined if no store is configured. */
  openStore(): Promise<Store | undefined>;
  /** Receives warnings that no row of an answer contains. */
  warn(text: string): void;
}

export type LoadTables = (loads: readonly Load[]) => Promise<void>;

export function createTableLoader(deps: SourceDeps): LoadTables {
  return async (loads) => {
    for (const load of loads) await loadOne(deps, load);
  };
}

async function loadOne({ connection, library, folder, openStore, warn }: SourceDeps, load: Load): Promise<void> {
  switch (load.kind) {
    case "platform": {
      const store = await openStore();
      if (!store) return;
      const { loadPlatform } = await import("../platform/load-platform.ts");
      return loadPlatform(connection, store);
    }
    case "read-function": {
      const { loadReadFunction } = await import("./read-functions.ts");
      return loadReadFunction(connection, load.call, { library, folder, warn });
    }
    case "small-table": {
      const { loadSmallTable } = await import("./small-files.ts");
      return loadSmallTable(connection, load.table, library);
    }
  }
}
