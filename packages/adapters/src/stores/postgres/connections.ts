import { KnownError } from "@skein/protocol";
import pg from "pg";
import { toKnownError } from "./errors.ts";
import { keepAliveUntil } from "./keep-process-alive.ts";
import { type OwnConnection, createOwnConnection } from "./own-connection.ts";
import { type Query, asked } from "./query.ts";

/** The way to the database: known errors only, closed once. */
export interface Connections {
  readonly query: Query;
  /** A connection beside the pool for one caller, who asks one thing at a time. */
  own(): Query;
  /** Uses one connection for several statements, for example to migrate. */
  withClient<Result>(use: (client: pg.ClientBase) => Promise<Result>): Promise<Result>;
  /** A connection of its own beside the pool, for LISTEN and NOTIFY. The caller connects and ends it. */
  dedicated(): pg.Client;
  readonly closed: boolean;
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  readonly url: string;
  /** How many connections the pool has at most. */
  readonly poolSize: number;
}

export function createConnections({ url, poolSize }: ConnectionsOptions): Connections {
  const settings = { connectionString: url, application_name: "skein", connectionTimeoutMillis: 5000, keepAlive: true };
  const pool = new pg.Pool({ ...settings, max: poolSize, allowExitOnIdle: true });
  // An idle connection that breaks is dropped by the pool; the next query opens another.
  pool.on("error", () => {});
  const owned: OwnConnection[] = [];
  let closed = false;

  function refuseIfClosed(): void {
    if (closed) throw new KnownError("closed", "The store is closed.");
  }

  return {
    async query(statement, values = []) {
      refuseIfClosed();
      try {
        return await asked(pool, statement, values);
      } catch (error) {
        throw toKnownError(error);
      }
    },
    own() {
      const connection = createOwnConnection({ refuseIfClosed, newClient: () => new pg.Client(settings) });
      owned.push(connection);
      return connection.query;
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
      await keepAliveUntil(Promise.all([pool.end(), ...owned.map((connection) => connection.close())]));
    },
  };
}
