import { setTimeout as delay } from "node:timers/promises";
import { KnownError, isKnownError } from "@skein/protocol";
import pg from "pg";
import { toKnownError } from "./errors.ts";
import { type HangWatch, createHangWatch } from "./hang-watch.ts";
import { keepAliveUntil } from "./keep-process-alive.ts";
import { type OwnConnection, createOwnConnection } from "./own-connection.ts";
import { type Query, asked, bytesOf } from "./query.ts";

/** The connections to the database. `toKnownError` converts the errors that they throw. */
export interface Connections {
  readonly query: Query;
  /**
   * Runs the few short statements that keep a worker alive or find the sessions of a dead worker, one at a time. Their
   * connection is separate, because they would be seconds late if they waited for many other statements.
   */
  readonly urgent: Query;
  /** A separate connection for one caller, who runs one statement at a time. */
  own(): Query;
  /** Uses one connection for several statements, for example to migrate. */
  withClient<Result>(use: (client: pg.ClientBase) => Promise<Result>): Promise<Result>;
  /** A separate connection outside of the pool, for LISTEN and NOTIFY. The caller connects and ends it. */
  dedicated(): pg.Client;
  readonly closed: boolean;
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  readonly url: string;
  /** The largest number of connections in the pool. */
  readonly poolSize: number;
  /** PostgreSQL rejects every statement that writes. */
  readonly readOnly?: boolean;
}

/** PostgreSQL ends a statement after this time, so that no statement continues after its caller has given up. */
const STATEMENT_MS = 30_000;
const PROBE_MS = 1000;
/** How long `close` waits for the connections to close. A database that hangs does not confirm this. */
const CLOSE_MS = 2000;

export function createConnections({ url, poolSize, readOnly = false }: ConnectionsOptions): Connections {
  const address = { connectionString: url, application_name: "skein", connectionTimeoutMillis: 5000, keepAlive: true };
  const limited = (client: pg.ClientBase): Promise<void> => limitStatements(client, readOnly);
  // The pool awaits the promise of `onConnect`, although its types do not say so.
  // oxlint-disable-next-line typescript/no-misused-promises
  const pool = new pg.Pool({ ...address, max: poolSize, allowExitOnIdle: true, onConnect: limited });
  // The pool drops a broken idle connection, and the next query opens a new connection.
  pool.on("error", () => {});
  // If a connection breaks while it is in use, its query fails. Without this listener the error would end the process.
  pool.on("connect", (client) => void client.on("error", () => {}));
  const watch = createHangWatch({ probe: () => probe({ ...address, connectionTimeoutMillis: PROBE_MS }) });
  const owned: OwnConnection[] = [];
  let closed = false;

  function refuseNow(): void {
    if (closed) throw new KnownError("closed", "The store is closed.");
    watch.refuseIfHung();
  }

  function own(): Query {
    const newClient = (): pg.Client => new pg.Client(address);
    const connection = createOwnConnection({ refuseNow, watch, newClient, onConnect: limited });
    owned.push(connection);
    return connection.query;
  }

  return {
    async query(statement, values = []) {
      refuseNow();
      let client: pg.PoolClient | undefined;
      let failed: unknown;
      try {
        client = await connected(pool, watch);
        const moved = bytesOf(client);
        const patient = statement.patient ?? false;
        return await watch.limited(asked(client, statement, values), { moved, patient });
      } catch (error) {
        failed = toKnownError(error);
        throw failed;
      } finally {
        // A connection with an unfinished answer cannot be used again.
        client?.release(isKnownError(failed, "store_unavailable"));
      }
    },
    urgent: inTurn(own()),
    own,
    async withClient(use) {
      refuseNow();
      // This connection has no time limit, because a migration may take long.
      const client = new pg.Client(address);
      client.on("error", () => {});
      try {
        await client.connect();
        return await use(client);
      } catch (error) {
        throw toKnownError(error);
      } finally {
        await client.end().catch(() => {});
      }
    },
    dedicated: () => new pg.Client(address),
    get closed() {
      return closed;
    },
    async close() {
      if (closed) return;
      closed = true;
      watch.close();
      const ended = Promise.all([pool.end(), ...owned.map((connection) => connection.close())]);
      await keepAliveUntil(Promise.race([ended, delay(CLOSE_MS)]));
    },
  };
}

/** Runs queries one after another, even if a query fails. */
function inTurn(query: Query): Query {
  let last: Promise<unknown> = Promise.resolve();
  return (statement, values) => {
    const answer = last.then(() => query(statement, values));
    last = answer.catch(() => undefined);
    return answer;
  };
}

/** Sets the time limit of statements with a statement, because PgBouncer would reject a parameter of the connection. */
async function limitStatements(client: pg.ClientBase, readOnly: boolean): Promise<void> {
  const reading = readOnly ? "; SET default_transaction_read_only = on" : "";
  await client.query(`SET statement_timeout = ${STATEMENT_MS}${reading}`);
}

/** Returns a connection of the pool. A connection that comes after the time limit goes back to the pool. */
async function connected(pool: pg.Pool, watch: HangWatch): Promise<pg.PoolClient> {
  const coming = pool.connect();
  try {
    return await watch.limited(coming);
  } catch (error) {
    coming.then(
      (late) => late.release(),
      () => {},
    );
    throw error;
  }
}

async function probe(settings: pg.ClientConfig): Promise<void> {
  const client = new pg.Client({ ...settings, query_timeout: PROBE_MS });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("select 1");
  } finally {
    void client.end().catch(() => {});
  }
}
