import { isKnownError } from "@skein/protocol";
import type pg from "pg";
import { toKnownError } from "./errors.ts";
import type { HangWatch } from "./hang-watch.ts";
import { type Query, type Statement, type TextRow, asked, bytesOf } from "./query.ts";

/**
 * A connection for one caller, with one query at a time. The first query opens the connection, and a later query opens
 * it again if it broke.
 */
export interface OwnConnection {
  readonly query: Query;
  /** Closes the connection after the last answer. */
  close(): Promise<void>;
}

export interface OwnConnectionDeps {
  readonly newClient: () => pg.Client;
  /** Called once for each new connection, before its first query. */
  readonly onConnect: (client: pg.Client) => Promise<void>;
  /** Throws if the database is known to hang. */
  readonly refuseNow: () => void;
  readonly watch: HangWatch;
}

export function createOwnConnection({ newClient, onConnect, refuseNow, watch }: OwnConnectionDeps): OwnConnection {
  let client: pg.Client | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function open(): Promise<pg.Client> {
    const fresh = newClient();
    const forget = (): void => {
      if (client === fresh) client = undefined;
    };
    fresh.on("error", forget);
    fresh.on("end", forget);
    await fresh.connect();
    await onConnect(fresh);
    return (client = fresh);
  }

  async function ask(statement: Statement, values: readonly unknown[]): Promise<readonly TextRow[]> {
    refuseNow();
    try {
      const asking = client ?? (await watch.limited(open()));
      // Only a running query keeps the process alive, not an idle connection.
      asking.ref();
      try {
        return await watch.limited(asked(asking, statement, values), {
          moved: bytesOf(asking),
          patient: statement.patient ?? false,
        });
      } finally {
        asking.unref();
      }
    } catch (error) {
      const known = toKnownError(error);
      // The connection may still be open, although it has announced its end.
      if (isKnownError(known, "store_unavailable")) void end();
      throw known;
    }
  }

  async function end(): Promise<void> {
    const over = client;
    client = undefined;
    // A broken connection cannot be closed properly.
    await over?.end().catch(() => {});
  }

  return {
    query(statement, values = []) {
      const answer = ask(statement, values);
      last = answer;
      return answer;
    },
    async close() {
      await last.catch(() => {});
      await end();
    },
  };
}
