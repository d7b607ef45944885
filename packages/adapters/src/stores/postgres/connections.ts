import { KnownError } from "@skein/protocol";
import pg from "pg";
import { toKnownError } from "./errors.ts";

export interface Statement {
  /** Prepared once per connection under this name. Without one it is planned each time, for the values it comes with. */
  readonly name?: string;
  readonly text: string;
}

/** A row, each column as the text that PostgreSQL wrote, or null. Whoever asked knows what to make of it. */
export type TextRow = readonly (string | null)[];

/** The way to the database: known errors only, closed once. */
export interface Connections {
  query(statement: Statement, values?: readonly unknown[]): Promise<readonly TextRow[]>;
  /** Uses one connection for several statements, for example to migrate. */
  withClient<Result>(use: (client: pg.ClientBase) => Promise<Result>): Promise<Result>;
  /** A connection of its own beside the pool, for LISTEN and NOTIFY. The caller connects and ends it. */
  dedicated(): pg.Client;
  readonly closed: boolean;
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  readonly url: string;
  /** How many connections do the work. LISTEN and NOTIFY have one more. */
  readonly poolSize: number;
}

/** Columns stay text: parsing a body twice, or a date into an object that is turned back into text, costs more than the query. */
const asText = { getTypeParser: () => (text: string) => text };

export function createConnections({ url, poolSize }: ConnectionsOptions): Connections {
  const settings = { connectionString: url, application_name: "skein", connectionTimeoutMillis: 5000, keepAlive: true };
  const pool = new pg.Pool({ ...settings, max: poolSize });
  // An idle connection that breaks is dropped by the pool; the next query opens another.
  pool.on("error", () => {});
  let closed = false;

  function refuseIfClosed(): void {
    if (closed) throw new KnownError("closed", "The store is closed.");
  }

  return {
    async query({ name, text }, values = []) {
      refuseIfClosed();
      try {
        const result = await pool.query<(string | null)[]>({
          ...(name !== undefined && { name }),
          text,
          values: [...values],
          rowMode: "array",
          types: asText,
        });
        return result.rows;
      } catch (error) {
        throw toKnownError(error);
      }
    },
    async withClient(use) {
      refuseIfClosed();
      let client: pg.PoolClient;
      try {
        client = await pool.connect();
      } catch (error) {
        throw toKnownError(error);
      }
      try {
        return await use(client);
      } catch (error) {
        throw toKnownError(error);
      } finally {
        client.release();
      }
    },
    dedicated: () => new pg.Client(settings),
    get closed() {
      return closed;
    },
    async close() {
      if (closed) return;
      closed = true;
      await pool.end();
    },
  };
}
