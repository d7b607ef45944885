import { join } from "node:path";
import type { Store } from "@skein/core";
import { isDataNotFoundError } from "@skein/history/discover";
import { type Sql, SqlError, createSql, examples, exportTables, initSql, namesHistory, statementsOf } from "@skein/sql";
import { type Call, defineCommand } from "../terminal/command.ts";
import { CommandError, EXIT, MissingError, UsageError, dataMissing } from "../terminal/exit-codes.ts";
import { oneOf } from "../terminal/option-kinds.ts";
import { nearestName } from "@skein/protocol";
import { createFileOutput, createOutput } from "../terminal/output.ts";
import { openPrivateFile } from "../terminal/private-file.ts";
import { readInput } from "../terminal/read-input.ts";
import { CACHE_OPTION, OUTPUT_OPTIONS, PAGER_OPTION, ROOT_OPTION } from "../terminal/shared-options.ts";
import { visible } from "../terminal/visible-text.ts";
import { failureText, writeAnswer, writeParquet } from "./sql/write-answer.ts";
import { cache, startBuilder } from "./sql/cache.ts";
import { FORMATS, type Format } from "./sql/formats.ts";
import { printSchema, tablesNamed } from "./sql/print-schema.ts";

/** The formats of an answer. */
const ANSWER_FORMATS = [...FORMATS, "plot", "parquet"] as const;
type AnswerFormat = (typeof ANSWER_FORMATS)[number];

const OPTIONS = {
  file: { takes: "FILE", short: "f", about: "Read the statements from a file; - is standard input" },
  schema: { about: "List every table and column and what they mean; --schema claude.messages lists one table" },
  root: ROOT_OPTION,
  store: {
    takes: "URL",
    about: "The store of Skein's sessions: sqlite:FILE, file:FOLDER, postgres://… (default: sqlite in ~/.skein)",
  },
  json: { about: "One JSON document, an array of rows: the same as --format json" },
  format: {
    takes: "FORMAT",
    short: "F",
    kind: oneOf(...ANSWER_FORMATS),
    about: `${ANSWER_FORMATS.join(", ")} (default: table, or line if a row does not fit; plot draws a chart)`,
  },
  ...OUTPUT_OPTIONS,
  cache: CACHE_OPTION,
  pager: PAGER_OPTION,
  afresh: { about: 'With "cache build": build the whole copy again' },
} as const;

type SqlCall = Call<typeof OPTIONS>;

/** `skein sql`: queries over all sessions. The statements run with the rights of the caller. */
export const sql = defineCommand({
  name: "sql",
  summary: "Query the sessions of coding agents and of Skein in SQL (DuckDB).",
  forms: [
    ['"SELECT …"', "One query"],
    ["-f FILE", "The statements in a file"],
    ["", "A prompt where statements are typed"],
    ["examples [NAME]", "List example queries, or run one"],
    ["export FOLDER|FILE.duckdb", "Write every table as a Parquet file, or all into one database"],
    ["init", "Print SQL that defines the tables in the duckdb command"],
    ["cache [build|clear]", "Show, build or remove the copy of the data that makes queries faster"],
  ],
  options: OPTIONS,
  examples: [
    'skein sql "SELECT model, sum(cost_usd) FROM claude.responses GROUP BY 1"',
    `skein sql "FROM claude.messages WHERE text LIKE '%flaky%'" --format jsonl`,
    'skein sql "SELECT source, sum(cost_usd) FROM history.responses GROUP BY 1"',
    "skein sql examples usage-by-day --format plot",
    `skein sql "FROM claude.messages" --format parquet --output messages.parquet`,
  ],
  run: (call) =>
    run(call).catch((error: unknown) => {
      throw error instanceof Error ? toCommandError(error) : error;
    }),
});

/** Turns an error of a statement into a command error with an exit code. Other errors are returned unchanged. */
function toCommandError(error: Error): Error {
  if (error instanceof SqlError && isStopped(error)) return new CommandError(EXIT.cancelled, "Stopped.");
  if (error instanceof SqlError || isOfDuckDb(error))
    return new CommandError(CANNOT_WRITE.test(error.message) ? EXIT.io : EXIT.failed, failureText(error));
  return isDataNotFoundError(error) ? dataMissing(error) : error;
}

/** DuckDB's messages about a full or unwritable disk. */
const CANNOT_WRITE = /: (No space left on device|Read-only file system|Permission denied|Disk quota exceeded)/;

/** Whether the error has the format of DuckDB's errors, such as `IO Error: …`. */
function isOfDuckDb({ message }: Error): boolean {
  return /^(\w+ )?\w+ Error: /.test(message);
}

async function run(call: SqlCall): Promise<number> {
  const { values, words, screen, config } = call;
  const [word, name, more] = words;
  const isBare = word === undefined && values.file === undefined && !values.schema;
  if (isBare && !(process.stdin.isTTY && process.stdout.isTTY))
    throw new UsageError('There is no statement. Give one: skein sql "SELECT …". The prompt needs a terminal.');
  const place = {
    ...(values.root === undefined ? {} : { roots: values.root }),
    cacheFolder: config.cacheDir,
  };
  if (more !== undefined && COMMANDS.has(word ?? ""))
    throw new UsageError(`Unexpected word "${more}" after "skein sql ${word}": see "skein sql --help".`);
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
    else {
      for (const { name: each, question } of known) screen.out(`${each.padEnd(width)}  ${question}\n`);
      screen.note(`Run one with its name: skein sql examples ${known[0]?.name ?? ""}\n`);
    }
    return EXIT.completed;
  }
  const format = formatOf(values);
  const statement = isBare || values.schema || word === "export" ? undefined : await statementOf(values.file, words);
  let store: Store | undefined;
  // Finding the sessions of coding agents other than Claude Code takes time, so this is done only for a statement that
  // may read these sessions.
  const asksAll = statement === undefined || namesHistory(statement);
  const roots = asksAll ? await allRoots(values.root, values.cache ? config.cacheDir : null, screen) : values.root;
  const database = await createSql({
    ...(roots === undefined ? { emptyWithoutRoots: word === "export" } : { roots }),
    onWarning: (text) => screen.note(`${visible(text)}\n`),
    // The store is opened only for a statement that reads it, so that other statements start sooner.
    store: async () => (store = await (await import("./sql/query-store.ts")).openStoreToAsk(values.store)),
    cacheFolder: values.cache ? place.cacheFolder : null,
  });
  let isFollowing = false;
  const stopListening = isBare ? () => {} : onSignals(() => database.interrupt());
  /** Updates the cached copy of the transcripts once, after the first answer. */
  const follow = (): void => {
    if (values.cache && !isFollowing) isFollowing = startBuilder(database.scannedBytes(), roots);
  };
  try {
    if (values.schema) {
      const tables = tablesNamed(await database.tables(), word);
      if (values.json) screen.json(tables);
      else printSchema(tables, screen);
      return EXIT.completed;
    }
    if (word === "export") return await exported(database, name, call);
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

/**
 * Returns the roots of all agents on this machine, or the roots for the given folders. Returns undefined if no agent
 * has data.
 */
async function allRoots(
  given: readonly string[] | undefined,
  cacheDir: string | null,
  screen: SqlCall["screen"],
): Promise<readonly string[] | undefined> {
  const { withSources } = await import("@skein/history");
  const cacheFolder = cacheDir === null ? null : join(cacheDir, "history");
  try {
    const { config, problems } = await withSources({ cacheFolder, ...(given !== undefined && { dataPath: given }) });
    for (const { source, path, message } of problems) screen.note(`${visible(`${source}: ${path}: ${message}`)}\n`);
    const { dataPath } = config;
    return typeof dataPath === "string" ? [dataPath] : dataPath?.length === 0 ? undefined : dataPath;
  } catch (error) {
    if (isDataNotFoundError(error) && given === undefined) return undefined;
    throw error;
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
      const isSeveral = statementsOf(statement).length > 1;
      const isList = isSeveral && format === "json";
      const hasTitles = isSeveral && READ_BY_PEOPLE.has(format);
      let isFirst = true;
      for await (const answer of database.stream(statement)) {
        done();
        if (isList) await output.write(isFirst ? "[" : ",\n");
        // A statement such as SET has no answer.
        const hasTitle = hasTitles && answer.columns.length > 0;
        if (hasTitle) await output.write(titleOf(answer.comment, isFirst));
        if (isList || hasTitle) isFirst = false;
        await writeAnswer(answer, {
          format,
          columns: file === undefined ? screen.columns : WIDE,
          mustFit: file === undefined && screen.tableColumns !== undefined,
          output,
          isList,
        });
        if (output.isClosed) break;
      }
      if (isList) await output.write("]\n");
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

/** Formats for people. If there are several answers, each answer begins with the comment of its statement. */
const READ_BY_PEOPLE: ReadonlySet<AnswerFormat> = new Set(["table", "box", "line", "plot"]);

function titleOf(comment: string, isFirst: boolean): string {
  return `${isFirst ? "" : "\n"}${comment === "" ? "" : `${visible(comment)}\n`}`;
}

/** The largest width of a table in a file. */
const WIDE = 100_000;

async function statementOf(file: string | undefined, words: readonly string[]): Promise<string> {
  if (file !== undefined) return readInput(file);
  const [word = "", name, ...rest] = words;
  if (word.trim() === "") throw new UsageError('The statement is empty. Give one: skein sql "SELECT …".');
  if (word === "examples") {
    const example = examples().find((known) => known.name === name);
    if (!example) throw new MissingError(`There is no example "${name}". "skein sql examples" lists the examples.`);
    return example.sql;
  }
  if (/^\.\w/.test(word))
    throw new UsageError(
      `${visible(word)} is for the prompt: to open the prompt, run "skein sql" without a statement. "skein sql --schema" shows every table.`,
    );
  const near = /^\w+$/.test(word) ? nearestName(word, [...COMMANDS]) : undefined;
  if (near !== undefined) throw new UsageError(`"${word}" is not a statement. Did you mean "skein sql ${near}"?`);
  if (name !== undefined || rest.length > 0)
    throw new UsageError("Put the statement into quotes: a shell splits it at its spaces.");
  return word;
}

/** Words that are commands, not statements. */
const COMMANDS: ReadonlySet<string> = new Set(["cache", "init", "examples", "export"]);

const isStopped = (error: SqlError): boolean => error.message.startsWith("INTERRUPT");

/**
 * Stops the statement at the first signal, so that no process or file is left. A second signal ends the command
 * immediately.
 */
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

async function exported(database: Sql, target: string | undefined, { values, screen }: SqlCall): Promise<number> {
  if (target === undefined)
    throw new UsageError("Give the target: skein sql export FOLDER, or skein sql export FILE.duckdb.");
  const done = screen.progress("Exporting");
  try {
    for (const path of await exportTables(database, target, values)) screen.out(`${visible(path)}\n`);
    return EXIT.completed;
  } catch (error) {
    if (error instanceof SqlError || !(error instanceof Error) || "syscall" in error) throw error;
    screen.note(`${visible(error.message)}\n`);
    return EXIT.io;
  } finally {
    done();
  }
}

/** Returns the first format of the interactive prompt. The prompt shows no charts until the command `.plot`. */
function rowsAs(format: AnswerFormat): Format {
  return format === "plot" || format === "parquet" ? "table" : format;
}

function formatOf({ format, json, output }: SqlCall["values"]): AnswerFormat {
  if (json && format !== undefined && format !== "json")
    throw new UsageError(`--json and --format ${format} cannot be used together: choose one.`);
  if (format === "parquet" && output === undefined)
    throw new UsageError("A Parquet file needs a name: --format parquet --output FILE.");
  return format ?? (json ? "json" : "table");
}
