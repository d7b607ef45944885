import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { wasUndone } from "./errors.ts";

// The clients of `pg` have these members, but the types of `pg` do not.
declare module "pg" {
  interface ClientBase {
    /** Decides, like `ref` and `unref` of a socket, whether the connection keeps the process alive. */
    ref(): void;
    unref(): void;
  }
}

export interface Statement {
  /** The name of the prepared statement. A statement without a name is planned at each call, for the given values. */
  readonly name?: string;
  readonly text: string;
  /** Whether the statement may read or write much data, so that its first row may come late. */
  readonly patient?: boolean;
}

/** A row with each column as PostgreSQL's text, or null. The caller parses the texts. */
export type TextRow = readonly (string | null)[];

export type Query = (statement: Statement, values?: readonly unknown[]) => Promise<readonly TextRow[]>;

/**
 * Columns stay text. Parsing a body twice, or turning a date into an object and back, would cost more than the query.
 */
const asText = { getTypeParser: () => (text: string) => text };

/** The waits before the retries of a statement that was rolled back. */
const AGAIN_MS = [10, 50, 250, 1000];

/**
 * Runs a statement and returns its rows. Each statement is a transaction, so a statement that was rolled back can be
 * tried again. Reasons: docs/decisions/166-two-versions-on-one-database.md.
 */
export async function asked(
  client: pg.ClientBase,
  { patient: _, ...statement }: Statement,
  values: readonly unknown[],
): Promise<readonly TextRow[]> {
  const config = { ...statement, values: [...values], rowMode: "array" as const, types: asText };
  for (let attempt = 0; ; attempt++) {
    try {
      return (await client.query<(string | null)[]>(config)).rows;
    } catch (error) {
      const wait = AGAIN_MS[attempt];
      if (wait === undefined || !wasUndone(error)) throw error;
      // The wait is random, so that two conflicting statements are not tried again at the same moment.
      await delay(wait * (1 + Math.random()));
    }
  }
}

/** Returns a function for a number that changes whenever a connection receives or sends bytes. */
export function bytesOf(client: object): () => number {
  const { stream } = (client as { readonly connection: { readonly stream: Socket } }).connection;
  return () => stream.bytesRead + stream.bytesWritten;
}
