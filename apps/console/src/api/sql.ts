import { type Client, SkeinError } from "@skein/client";

interface SqlColumn {
  readonly name: string;
  readonly type: string;
}

/** The result of a statement. */
export interface SqlAnswer {
  readonly columns: readonly SqlColumn[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** Whether there were more rows than the server sends. */
  readonly truncated: boolean;
  /** A note about the rows, such as the reason why a table is empty. */
  readonly notice: string | undefined;
  readonly ms: number;
}

interface Line {
  readonly columns?: SqlColumn[];
  readonly notice?: string;
  readonly row?: Record<string, unknown>;
  readonly end?: { rows: number; truncated: boolean };
  readonly error?: { message: string };
}

/**
 * The most attempts to send a request while the server runs too many statements, and the pause between two attempts.
 */
const TRIES = 4;
const PAUSE_MS = 2000;

/**
 * Sends a request. If the server rejects the request because too many statements run, sends it again after a pause.
 * Gives up after `TRIES` attempts.
 */
export async function inTurn<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries++)
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof SkeinError) || error.status !== 429 || tries === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
}

/** Runs one statement and reads the whole answer. The server limits an answer to 10 MiB. */
export async function askSql(client: Client, statement: string, signal?: AbortSignal): Promise<SqlAnswer> {
  const started = performance.now();
  const body: unknown = await inTurn(() => client.askSql({ body: { sql: statement }, ...(signal && { signal }) }));
  const text = typeof body === "string" ? body : new TextDecoder().decode(body as ArrayBuffer);
  let columns: SqlColumn[] = [];
  let end: Line["end"];
  let notice: string | undefined;
  const rows: Record<string, unknown>[] = [];
  for (const part of text.split("\n")) {
    if (part === "") continue;
    const line = JSON.parse(part) as Line;
    if (line.error) throw new Error(line.error.message);
    if (line.columns) columns = line.columns;
    notice = line.notice ?? notice;
    if (line.row) rows.push(line.row);
    end = line.end ?? end;
  }
  if (!end) throw new Error("The answer broke off before its end. Run the statement again.");
  return { columns, rows, truncated: end.truncated, notice, ms: performance.now() - started };
}
