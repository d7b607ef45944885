import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Row, type Sql, type SqlStream, statementsOf } from "@skein/sql";
import { UsageError } from "../../terminal/exit-codes.ts";
import { alreadyThere } from "../../terminal/private-file.ts";
import { visible } from "../../terminal/visible-text.ts";
import { type Format, createFormatter } from "./formats.ts";
import type { Output } from "../../terminal/output.ts";
import { plot } from "./plot.ts";

export interface AnswerOptions {
  /** `plot` is a chart instead of rows. */
  readonly format: Format | "plot";
  readonly columns: number;
  readonly output: Output;
  /** Whether the answer must fit into `columns`, because a person reads it on a terminal. */
  readonly mustFit?: boolean;
  /**
   * Whether this answer is part of a JSON list of answers. In this list, a statement without an answer gives an empty
   * list.
   */
  readonly isList?: boolean;
}

/** Returns the error of a statement, with a hint for a known problem. */
export function failureText({ message }: Error): string {
  if (message.includes("Corrupt database file"))
    return visible(
      `${message}\nIf the damaged file is Skein's cached copy of the transcripts, remove the copy with "skein sql cache clear".`,
    );
  if (/^Catalog Error: Table with name .+ does not exist/.test(message))
    return visible(`${message.replace(SYSTEM_TABLE, "")}\n"skein sql --schema" lists every table.`);
  return visible(message);
}

/** DuckDB's suggestion of a table of its own, which nobody wants who asks for sessions. */
const SYSTEM_TABLE = /^Did you mean "(pg_|duckdb_|sqlite_|pragma_|information_schema).*\n/m;

/** Writes the rows of an answer as they arrive. Returns the number of rows. */
export async function writeAnswer({ columns, rows }: SqlStream, options: AnswerOptions): Promise<number> {
  const { output } = options;
  if (options.format === "plot") return writePlot({ columns, rows }, options);
  const formatter = createFormatter(options.format, columns, {
    width: options.columns,
    mustFit: options.mustFit ?? false,
  });
  let count = 0;
  for await (const some of rows) {
    count += some.length;
    await output.write(formatter.rows(some));
    // The reader has stopped, for example `| head` or `q` in the pager.
    if (output.isClosed) return count;
  }
  if (columns.length > 0 || options.isList) await output.write(formatter.end());
  return count;
}

async function writePlot({ columns, rows }: SqlStream, { output, columns: width }: AnswerOptions): Promise<number> {
  const all: Row[] = [];
  for await (const some of rows) all.push(...some);
  if (columns.length === 0) return 0;
  const chart = plot(columns, all, width);
  if (chart === undefined)
    throw new UsageError(
      "A chart needs a column with names of the rows and a column of numbers. Choose another --format.",
    );
  await output.write(chart);
  return all.length;
}

/** Writes the answer to a Parquet file. An existing file is replaced only if that was requested. */
export async function writeParquet(
  database: Sql,
  statement: string,
  { file, force }: { readonly file: string; readonly force: boolean },
): Promise<void> {
  if (existsSync(file) && !force) throw alreadyThere(file);
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) throw new UsageError(`There is no folder ${folder} to write the Parquet file into.`);
  const [one = "", ...others] = statementsOf(statement);
  if (others.length > 0)
    throw new UsageError(
      `A Parquet file holds the answer of one statement. Run the ${others.length + 1} statements one by one.`,
    );
  await database.run(`COPY (${one}\n) TO '${file.replaceAll("'", "''")}' (FORMAT parquet)`);
}
