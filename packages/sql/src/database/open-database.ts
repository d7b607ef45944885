import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";

export interface DatabaseOptions {
  /** A folder for temporary files. The caller removes it. */
  readonly folder: string;
  /** How much memory DuckDB may use before it writes to that folder, such as `205MB`. */
  readonly memoryLimit: string;
  /** Default: the number of cores. */
  readonly threads?: number | undefined;
  /** Keeps more freed memory for the next statement, which makes many large statements a tenth faster. */
  readonly keepsFreed?: boolean;
}

export interface Database {
  readonly connection: DuckDBConnection;
  close(): void;
}

/** An empty DuckDB in memory. It never downloads anything. */
export async function openDatabase({ folder, memoryLimit, threads, keepsFreed }: DatabaseOptions): Promise<Database> {
  const instance = await DuckDBInstance.create(":memory:", {
    memory_limit: memoryLimit,
    temp_directory: join(folder, "spill"),
    // These settings make DuckDB return freed memory to the system soon.
    allocator_flush_threshold: keepsFreed === true ? "32MB" : "8MB",
    allocator_bulk_deallocation_flush_threshold: keepsFreed === true ? "64MB" : "16MB",
    // A statement must not fetch an extension from the network.
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    ...(threads === undefined ? {} : { threads: String(threads) }),
  });
  const connection = await instance.connect();
  return {
    connection,
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
