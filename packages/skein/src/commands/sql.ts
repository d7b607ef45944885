import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Store } from "@skein/core";
import { isDataNotFoundError } from "@skein/history/discover";
import { type Sql, SqlError, createSql, examples, exportTables, initSql } from "@skein/sql";
import { readConfig } from "../config.ts";
import { EXIT, MissingError, UsageError } from "../terminal/exit-codes.ts";
import { type Screen, createScreen } from "../terminal/screen.ts";
import { visible } from "../terminal/visible.ts";
import { failureText, writeAnswer, writeParquet } from "./sql/answer.ts";
import { cache, startBuilder } from "./sql/cache.ts";
import { FORMATS, type Format } from "./sql/formats.ts";
import { createOutput } from "./sql/output.ts";
import { printSchema } from "./sql/print-schema.ts";
import { openStoreToAsk } from "./sql/store-to-ask.ts";

const HELP = `skein sql: ask Claude Code's data and the platform's sessions in SQL (DuckDB)

Usage: skein sql "SELECT …" [options]
       skein sql -f FILE [options]
       skein sql                               A prompt, on a terminal
       skein sql examples [NAME] [options]     Questions that are worth asking; runs one
       skein sql export DIR|FILE.duckdb        Every table as Parquet, or as one database
       skein sql init                          The tables as SQL for the stock DuckDB shell
       skein sql cache [build|clear]           The copy that makes questions quick: where it is; makes it; removes it

Options:
  -f, --file FILE    Read the statements from a file; - is standard input
  --schema           Every table and column, and what they mean; --schema claude.messages: of one table
  --root DIR         A Claude Code data directory; may be given several times
  --store URL        The platform's store: sqlite:FILE, file:FOLDER, postgres://… (default: sqlite in ~/.skein)
  --json             A JSON array of row objects      --jsonl     One object per line
  --csv              CSV; formulas are defused        --markdown  A Markdown table
  --box              A table with lines               --table     A table (the default)
  --parquet FILE     Write the answer to a Parquet file
  --plot             Draw a chart: names of rows and numbers
  --no-cache         Read the files themselves, and keep nothing in Skein's cache folder
  --afresh           With "cache build": from nothing, instead of from the copy that is there
  -h, --help         This text

Examples:
  skein sql "SELECT model, sum(cost_usd) FROM claude.responses GROUP BY 1"
  skein sql "SELECT * FROM claude_conversations WHERE contains(content, 'flaky')" --jsonl
  skein sql examples usage-by-day --plot

Exit codes: 0 done, 1 the statement failed, 2 called wrongly, 3 no such directory, store, table or example,
            4 a file or a store could not be used, 130 stopped by Ctrl-C
`;

/** `skein sql`: one question over everything. The statements are the caller's own and run with the caller's rights. */
export async function sql(args: readonly string[]): Promise<number> {
  const screen = createScreen();
  try {
    return await run(args, screen);
  } catch (error) {
    if (error instanceof SqlError && isStopped(error)) {
      screen.note("Stopped.\n");
      return EXIT.cancelled;
    }
    if (error instanceof SqlError || isOfDuckDb(error)) {
      screen.note(`${failureText(error)}\n`);
      return CANNOT_WRITE.test(error.message) ? EXIT.io : EXIT.failed;
    }
    if (error instanceof MissingError || (error instanceof Error && isDataNotFoundError(error))) {
      screen.note(`${visible(error.message)}\n`);
      return EXIT.notFound;
    }
    const { failureOf } = await import("../terminal/exit.ts");
    const failure = failureOf(error);
    if (!failure) throw error;
    screen.note(`${visible(failure.message)}\n`);
    return failure.exitCode;
  }
}

/** What DuckDB says of a disk. */
const CANNOT_WRITE = /: (No space left on device|Read-only file system|Permission denied|Disk quota exceeded)/;

/** An error in DuckDB's own words, from work that is no statement of the caller. */
function isOfDuckDb(error: unknown): error is Error {
  return error instanceof Error && /^(\w+ )?\w+ Error: /.test(error.message);
}

type Values = ReturnType<typeof parsed>["values"];

async function run(args: readonly string[], screen: Screen): Promise<number> {
  const { values, positionals } = parsed(args);
  const [word, name, more] = positionals;
  const isBare = word === undefined && values.file === undefined && values.schema !== true;
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  if (values.help === true || (isBare && !isTerminal)) {
    screen.out(HELP);
    return values.help === true ? EXIT.completed : EXIT.usage;
  }
  const place = {
    ...(values.root === undefined ? {} : { roots: values.root }),
    cacheFolder: cacheFolder(process.env),
  };
  if (more !== undefined && COMMANDS.has(word ?? ""))
    throw new UsageError(`skein sql ${word} takes no "${more}". "skein sql --help" has what it takes.`);
  if (word === "cache") return cache(name, { ...place, afresh: values.afresh === true, screen });
  if (word === "init") {
    if (name !== undefined || (values.root?.length ?? 0) > 1)
      throw new UsageError("skein sql init takes one data directory: skein sql init --root DIR.");
    screen.out(await initSql(values.root?.[0]));
    return EXIT.completed;
  }
  if (word === "examples" && name === undefined) {
    const known = examples();
    const width = Math.max(...known.map((example) => example.name.length));
    for (const { name: each, question } of known) screen.out(`${each.padEnd(width)}  ${question}\n`);
    return EXIT.completed;
  }
  const format = formatOf(values);
  const statement =
    isBare || values.schema === true || word === "export" ? undefined : statementOf(values.file, positionals);
  let store: Store | undefined;
  const database = await createSql({
    ...(values.root === undefined ? {} : { roots: values.root }),
    store: async () => (store = await openStoreToAsk(values.store)),
    cacheFolder: values.cache ? place.cacheFolder : null,
  });
  let isFollowing = false;
  const stopListening = isBare ? () => {} : onSignals(() => database.interrupt());
  /** Has the copy follow the files, once, after the first answer that had to read them. */
  const follow = (): void => {
    if (values.cache && !isFollowing) isFollowing = startBuilder(database.scannedBytes(), values.root);
  };
  try {
    if (values.schema === true) {
      return printSchema(await database.tables(), screen, word) ? EXIT.completed : EXIT.notFound;
    }
    if (word === "export") return await exported(database, name, screen);
    if (statement === undefined) {
      const { ask } = await import("./sql/prompt.ts");
      const historyFile = join(readConfig().dataDir, "sql-history");
      await ask({ database, screen, historyFile: values.cache ? historyFile : null, format, answered: follow });
      return EXIT.completed;
    }
    return await answered(database, statement, { values, format, screen });
  } finally {
    stopListening();
    follow();
    database.close();
    await store?.close();
  }
}

interface Asked {
  readonly values: Values;
  readonly format: Format;
  readonly screen: Screen;
}

async function answered(database: Sql, statement: string, { values, format, screen }: Asked): Promise<number> {
  const done = screen.progress("Asking");
  try {
    if (values.parquet !== undefined) return await parquet(database, statement, values.parquet, screen);
    const output = createOutput({ stdout: process.stdout, env: process.env, pages: true });
    try {
      for await (const answer of database.stream(statement)) {
        done();
        await writeAnswer(answer, { format, plots: values.plot === true, columns: screen.columns, output });
        if (output.isClosed) break;
      }
    } finally {
      await output.close();
    }
    return EXIT.completed;
  } finally {
    done();
  }
}

async function parquet(database: Sql, statement: string, file: string, screen: Screen): Promise<number> {
  const code = await writeParquet(database, statement, file);
  if (code !== EXIT.completed) screen.note(`${visible(file)} exists. Name a file that does not.\n`);
  return code;
}

function statementOf(file: string | undefined, words: readonly string[]): string {
  if (file !== undefined) return textOf(file);
  const [word = "", name, ...rest] = words;
  if (word === "examples") {
    const example = examples().find((known) => known.name === name);
    if (!example) throw new MissingError(`There is no example "${name}". "skein sql examples" lists them.`);
    return example.sql;
  }
  if (name !== undefined || rest.length > 0)
    throw new UsageError("Put the statement into quotes: a shell splits it at its spaces.");
  return word;
}

function textOf(file: string): string {
  if (file !== "-" && statSync(file).isDirectory())
    throw new UsageError(`${file} is a folder. Name a file with statements.`);
  return readFileSync(file === "-" ? 0 : file, "utf8");
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
  if (target === undefined) throw new UsageError("Where to? skein sql export DIR, or FILE.duckdb.");
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

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      // A statement may begin with a comment, and is no option then.
      args: args.map((arg) => (/^--\s/.test(arg) ? `\n${arg}` : arg)),
      options: {
        file: { type: "string", short: "f" },
        schema: { type: "boolean" },
        store: { type: "string" },
        root: { type: "string", multiple: true },
        table: { type: "boolean" },
        box: { type: "boolean" },
        json: { type: "boolean" },
        jsonl: { type: "boolean" },
        csv: { type: "boolean" },
        markdown: { type: "boolean" },
        parquet: { type: "string" },
        plot: { type: "boolean" },
        cache: { type: "boolean", default: true },
        afresh: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
      allowPositionals: true,
      allowNegative: true,
    });
  } catch (error) {
    const [sentence = ""] = (error instanceof Error ? error.message : String(error)).split(". ");
    throw new UsageError(`${sentence.replace(/\.$/, "")}. "skein sql --help" lists the options.`);
  }
}

function formatOf(values: Values): Format {
  const given: string[] = FORMATS.filter((format) => values[format] === true);
  if (values.parquet !== undefined) given.push("parquet");
  if (values.plot === true) given.push("plot");
  if (given.length > 1) throw new UsageError(`--${given.join(" and --")} at once: choose one.`);
  return FORMATS.find((format) => format === given[0]) ?? "table";
}

function cacheFolder(env: NodeJS.ProcessEnv): string {
  return env["SKEIN_CACHE_DIR"] ?? join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "skein");
}
