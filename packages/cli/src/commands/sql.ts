import { join } from "node:path";
import type { Store } from "@skein/core";
import { isDataNotFoundError } from "@skein/history/discover";
import { type Sql, SqlError, createSql, examples, exportTables, initSql } from "@skein/sql";
import { type Call, defineCommand } from "../terminal/command.ts";
import { CommandError, EXIT, MissingError, UsageError, dataMissing } from "../terminal/exit-codes.ts";
import { oneOf } from "../terminal/option-kinds.ts";
import { nearestName } from "../terminal/nearest-name.ts";
import { createFileOutput, createOutput } from "../terminal/output.ts";
import { openPrivateFile } from "../terminal/private-file.ts";
import { readInput } from "../terminal/read-input.ts";
import type { Screen } from "../terminal/screen.ts";
import { CACHE_OPTION, OUTPUT_OPTIONS, PAGER_OPTION, ROOT_OPTION } from "../terminal/shared-options.ts";
import { visible } from "../terminal/visible-text.ts";
import { failureText, writeAnswer, writeParquet } from "./sql/write-answer.ts";
import { cache, startBuilder } from "./sql/cache.ts";
import { FORMATS, type Format } from "./sql/formats.ts";
import { printSchema, tablesNamed } from "./sql/print-schema.ts";

/** What an answer can be written as. */
const ANSWER_FORMATS = [...FORMATS, "plot", "parquet"] as const;
type AnswerFormat = (typeof ANSWER_FORMATS)[number];

const OPTIONS = {
  file: { takes: "FILE", short: "f", about: "Read the statements from a file; - is standard input" },
  schema: { about: "Every table and column, and what they mean; --schema claude.messages: of one table" },
  root: ROOT_OPTION,
  store: {
    takes: "URL",
    about: "The platform's store: sqlite:FILE, file:FOLDER, postgres://… (default: sqlite in ~/.skein)",
  },
  json: { about: "A JSON array of row objects: the same as --format json" },
  format: {
    takes: "FORMAT",
    short: "F",
    kind: oneOf(...ANSWER_FORMATS),
    about: `${ANSWER_FORMATS.join(", ")} (default: table; plot draws a chart of names and numbers)`,
  },
  ...OUTPUT_OPTIONS,
  cache: CACHE_OPTION,
  pager: PAGER_OPTION,
  afresh: { about: 'With "cache build": from nothing, instead of from the copy that is there' },
} as const;

type SqlCall = Call<typeof OPTIONS>;

/** `skein sql`: one question over everything. The statements are the caller's own and run with the caller's rights. */
export const sql = defineCommand({
  name: "sql",
  summary: "Ask Claude Code's data and the platform's sessions in SQL (DuckDB).",
  forms: [
    ['"SELECT …"', "One question"],
    ["-f FILE", "Those in a file"],
    ["", "A prompt, on a terminal"],
    ["examples [NAME]", "Questions that are worth asking; runs one"],
    ["export FOLDER|FILE.duckdb", "Every table as Parquet, or as one database"],
    ["init", "The tables as SQL for the stock DuckDB shell"],
    ["cache [build|clear]", "The copy that makes questions quick: where it is; makes it; removes it"],
  ],
  options: OPTIONS,
  examples: [
    'skein sql "SELECT model, sum(cost_usd) FROM claude.responses GROUP BY 1"',
    `skein sql "SELECT * FROM claude_conversations WHERE contains(content, 'flaky')" --format jsonl`,
    "skein sql examples usage-by-day --format plot",
    `skein sql "FROM claude.messages" --format parquet --output messages.parquet`,
  ],
  run: (call) =>
    run(call).catch((error: unknown) => {
      throw error instanceof Error ? toCommandError(error) : error;
    }),
});

/** What went wrong, with the exit code that it has here. */
function toCommandError(error: Error): Error {
  if (error instanceof SqlError && isStopped(error)) return new CommandError(EXIT.cancelled, "Stopped.");
  if (error instanceof SqlError || isOfDuckDb(error))
    return new CommandError(CANNOT_WRITE.test(error.message) ? EXIT.io : EXIT.failed, failureText(error));
  return isDataNotFoundError(error) ? dataMissing(error) : error;
}

/** What DuckDB says of a disk. */
const CANNOT_WRITE = /: (No space left on device|Read-only file system|Permission denied|Disk quota exceeded)/;

/** An error in DuckDB's own words, from work that is no statement of the caller. */
function isOfDuckDb({ message }: Error): boolean {
  return /^(\w+ )?\w+ Error: /.test(message);
}

async function run(call: SqlCall): Promise<number> {
  const { values, words, screen, config } = call;
  const [word, name, more] = words;
  const isBare = word === undefined && values.file === undefined && !values.schema;
  if (isBare && !(process.stdin.isTTY && process.stdout.isTTY))
    throw new UsageError('There is no statement: skein sql "SELECT …". Without one there is a prompt, on a terminal.');
  const place = {
    ...(values.root === undefined ? {} : { roots: values.root }),
    cacheFolder: config.cacheDir,
  };
  if (more !== undefined && COMMANDS.has(word ?? "")) throw new UsageError(`skein sql ${word} takes no "${more}".`);
  if (word === "cache") return cache(name, { ...place, afresh: values.afresh, screen });
  if (word === "init") {
    if (name !== undefined || (values.root?.length ?? 0) > 1)
      throw new UsageError("skein sql init takes one data directory: skein sql init --root FOLDER.");
    screen.out(await initSql(values.root?.[0]));
    return EXIT.completed;
  }
  if (word === "examples" && name === undefined) {
    const known = examples();
    const width = Math.max(...known.map((example) => example.name.length));
    if (values.json) screen.json(known);
    else for (const { name: each, question } of known) screen.out(`${each.padEnd(width)}  ${question}\n`);
    return EXIT.completed;
  }
  const format = formatOf(values);
  const statement = isBare || values.schema || word === "export" ? undefined : await statementOf(values.file, words);
  let store: Store | undefined;
  const database = await createSql({
    ...(values.root === undefined ? {} : { roots: values.root }),
    // Loaded when a question is about a store: most are not, and start sooner.
    store: async () => (store = await (await import("./sql/store-to-ask.ts")).openStoreToAsk(values.store)),
    cacheFolder: values.cache ? place.cacheFolder : null,
  });
  let isFollowing = false;
  const stopListening = isBare ? () => {} : onSignals(() => database.interrupt());
  /** Has the copy follow the files, once, after the first answer that had to read them. */
  const follow = (): void => {
    if (values.cache && !isFollowing) isFollowing = startBuilder(database.scannedBytes(), values.root);
  };
  try {
    if (values.schema) {
      const tables = tablesNamed(await database.tables(), word);
      if (values.json) screen.json(tables);
      else printSchema(tables, screen);
      return EXIT.completed;
    }
    if (word === "export") return await exported(database, name, screen);
    if (statement === undefined) {
      const { ask } = await import("./sql/prompt.ts");
      const historyFile = join(config.dataDir, "sql-history");
      await ask({
        database,
        screen,
        historyFile: values.cache ? historyFile : null,
        format: rowsAs(format),
        answered: follow,
      });
      return EXIT.completed;
    }
    return await answered(database, statement, call);
  } finally {
    stopListening();
    follow();
    database.close();
    await store?.close();
  }
}

async function answered(database: Sql, statement: string, { values, screen }: SqlCall): Promise<number> {
  const { output: file, force, pager: pages } = values;
  const format = formatOf(values);
  const done = screen.progress("Asking");
  try {
    if (format === "parquet") {
      await writeParquet(database, statement, { file: file ?? "", force });
      return EXIT.completed;
    }
    const output =
      file === undefined
        ? createOutput({ stdout: process.stdout, env: process.env, pages })
        : createFileOutput(openPrivateFile(file, { force }));
    try {
      for await (const answer of database.stream(statement)) {
        done();
        await writeAnswer(answer, { format, columns: file === undefined ? screen.columns : WIDE, output });
        if (output.isClosed) break;
      }
    } catch (error) {
      await output.giveUp();
      throw error;
    }
    await output.close();
    return EXIT.completed;
  } finally {
    done();
  }
}

/** How wide a table in a file may be. */
const WIDE = 100_000;

async function statementOf(file: string | undefined, words: readonly string[]): Promise<string> {
  if (file !== undefined) return readInput(file);
  const [word = "", name, ...rest] = words;
  if (word === "examples") {
    const example = examples().find((known) => known.name === name);
    if (!example) throw new MissingError(`There is no example "${name}". "skein sql examples" lists them.`);
    return example.sql;
  }
  const near = /^\w+$/.test(word) ? nearestName(word, [...COMMANDS]) : undefined;
  if (near !== undefined) throw new UsageError(`"${word}" is no statement. Did you mean "skein sql ${near}"?`);
  if (name !== undefined || rest.length > 0)
    throw new UsageError("Put the statement into quotes: a shell splits it at its spaces.");
  return word;
}

/** The words that are no statements. */
const COMMANDS: ReadonlySet<string> = new Set(["cache", "init", "examples", "export"]);

const isStopped = (error: SqlError): boolean => error.message.startsWith("INTERRUPT");

/** What ends the command stops its statement first, so that nothing is left behind. Whoever does not want to wait asks twice. */
function onSignals(stop: () => void): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  let asked = false;
  const hear = (): void => {
    if (asked) process.exit(EXIT.cancelled);
    asked = true;
    stop();
  };
  for (const signal of signals) process.on(signal, hear);
  return () => {
    for (const signal of signals) process.off(signal, hear);
  };
}

async function exported(database: Sql, target: string | undefined, screen: Screen): Promise<number> {
  if (target === undefined) throw new UsageError("Where to? skein sql export FOLDER, or FILE.duckdb.");
  const done = screen.progress("Exporting");
  try {
    for (const path of await exportTables(database, target)) screen.out(`${visible(path)}\n`);
    return EXIT.completed;
  } catch (error) {
    if (error instanceof SqlError || !(error instanceof Error) || "syscall" in error) throw error;
    screen.note(`${visible(error.message)}\n`);
    return EXIT.io;
  } finally {
    done();
  }
}

/** The prompt answers with rows: charts are asked for there. */
function rowsAs(format: AnswerFormat): Format {
  return format === "plot" || format === "parquet" ? "table" : format;
}

function formatOf({ format, json, output }: SqlCall["values"]): AnswerFormat {
  if (json && format !== undefined && format !== "json")
    throw new UsageError(`--json and --format ${format} at once: choose one.`);
  if (format === "parquet" && output === undefined)
    throw new UsageError("A Parquet file needs a name: --format parquet --output FILE.");
  return format ?? (json ? "json" : "table");
}
