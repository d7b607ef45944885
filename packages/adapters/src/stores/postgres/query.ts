import type { Socket } from "node:net";
import type pg from "pg";

// Its pool uses them; its types do not name them.
declare module "pg" {
  interface ClientBase {
    /** Whether the connection keeps the process, as of a socket. */
    ref(): void;
    unref(): void;
  }
}

export interface Statement {
  /** Prepared once per connection under this name. Without one it is planned each time, for the values it comes with. */
  readonly name?: string;
  readonly text: string;
  /** Looks at much, and may be silent for longer before its first row. */
  readonly patient?: boolean;
}

/** A row, each column as the text that PostgreSQL wrote, or null. Whoever asked knows what to make of it. */
export type TextRow = readonly (string | null)[];

export type Query = (statement: Statement, values?: readonly unknown[]) => Promise<readonly TextRow[]>;

/** Columns stay text: parsing a body twice, or a date into an object that is turned back into text, costs more than the query. */
const asText = { getTypeParser: () => (text: string) => text };

/** The rows that a statement gives. */
export async function asked(
  client: pg.ClientBase,
  { patient: _, ...statement }: Statement,
  values: readonly unknown[],
): Promise<readonly TextRow[]> {
  const config = { ...statement, values: [...values], rowMode: "array" as const, types: asText };
  return (await client.query<(string | null)[]>(config)).rows;
}

/** A number that changes whenever bytes move on a connection. */
export function bytesOf(client: object): () => number {
  const { stream } = (client as { readonly connection: { readonly stream: Socket } }).connection;
  return () => stream.bytesRead + stream.bytesWritten;
}
