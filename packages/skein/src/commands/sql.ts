import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isDataNotFoundError } from "@skein/history";
import { EXAMPLES, type Sql, SqlError, createSql, exportTables, namesPlatform } from "@skein/sql";
import { readConfig } from "../config.ts";
import { openStore } from "../open-store.ts";
import { EXIT, UsageError, failureOf } from "../terminal/exit.ts";
import { type Screen, createScreen } from "../terminal/screen.ts";
import { visible } from "../terminal/visible.ts";
import { FORMATS, type Format, formatted } from "./sql/formats.ts";

const HELP = `skein sql: ask Claude Code's data and the platform's sessions in SQL (DuckDB)

Usage: skein sql "SELECT …" [options]
       skein sql -f FILE [options]
       skein sql examples [NAME] [options]     Questions that are worth asking; runs one
       skein sql export DIR|FILE.duckdb        Every table as Parquet, or as one database

Options:
  -f, --file FILE    Read the statements from a file
  --schema           Every table and column, and what they mean
  --root DIR         A Claude Code data directory; may be given several times
  --store URL        The platform's store: sqlite:FILE, file:FOLDER, postgres://… (default: sqlite in ~/.skein)
  --json             A JSON array of row objects      --jsonl     One object per line
  --csv              CSV; formulas are defused        --markdown  A Markdown table
  --box              A table with lines               --table     A table (the default)
  --no-cache         Keep nothing in Skein's cache folder
  -h, --help         This text

Examples:
  skein sql "SELECT model, sum(cost_usd) FROM claude.responses GROUP BY 1"
  skein sql "SELECT * FROM claude_conversations WHERE contains(content, 'flaky')" --jsonl
  skein sql examples failing-tools --markdown

Exit codes: 0 done, 1 the statement failed, 2 called wrongly, 3 no such directory or example
`;

/** `skein sql`: one question over everything. The statements are the caller's own and run with the caller's rights. */
export async function sql(args: readonly string[]): Promise<number> {
  const screen = createScreen();
  try {
    return await run(args, screen);
  } catch (error) {
    if (error instanceof SqlError) {
      screen.note(`${visible(error.message)}\n`);
      return EXIT.failed;
    }
    if (error instanceof Error && isDataNotFoundError(error)) {
      screen.note(`${visible(error.message)}\n`);
      return EXIT.notFound;
    }
    const failure = failureOf(error);
    if (!failure) throw error;
    screen.note(`${visible(failure.message)}\n`);
    return failure.exitCode;
  }
}

async function run(args: readonly string[], screen: Screen): Promise<number> {
  const { values, positionals } = parsed(args);
  const [word, name] = positionals;
  const isBare = word === undefined && values.file === undefined && values.schema !== true;
  if (values.help === true || isBare) {
    screen.out(HELP);
    return values.help === true ? EXIT.completed : EXIT.usage;
  }
  if (word === "examples" && name === undefined) {
    const width = Math.max(...EXAMPLES.map((example) => example.name.length));
    for (const { name: each, question } of EXAMPLES) screen.out(`${each.padEnd(width)}  ${question}\n`);
    return EXIT.completed;
  }
  const statement = values.schema === true || word === "export" ? undefined : statementOf(values.file, positionals);
  const wantsStore = statement === undefined ? word === "export" : namesPlatform(statement);
  const storeUrl = wantsStore ? storeUrlOf(values.store) : undefined;
  const store = storeUrl === undefined ? undefined : await openStore(storeUrl);
  const database = await createSql({
    ...(store && { store }),
    ...(values.root === undefined ? {} : { roots: values.root }),
    cacheFolder: values.cache ? cacheFolder(process.env) : null,
  });
  const done = screen.progress("Asking");
  try {
    if (values.schema === true) return await printSchema(database, screen);
    if (statement === undefined) return await exported(database, name, screen);
    const results = await database.run(statement).finally(done);
    const format = formatOf(values);
    for (const result of results) if (result.columns.length > 0) screen.out(formatted(result, format, screen.columns));
    return EXIT.completed;
  } finally {
    done();
    database.close();
    await store?.close();
  }
}

function statementOf(file: string | undefined, words: readonly string[]): string {
  if (file !== undefined) return readFileSync(file === "-" ? 0 : file, "utf8");
  const [word = "", name, ...rest] = words;
  if (word === "examples") {
    const example = EXAMPLES.find((known) => known.name === name);
    if (!example) throw new UsageError(`There is no example "${name}". "skein sql examples" lists them.`);
    return example.sql;
  }
  if (name !== undefined || rest.length > 0)
    throw new UsageError("Put the statement into quotes: a shell splits it at its spaces.");
  return word;
}

async function printSchema(database: Sql, screen: Screen): Promise<number> {
  for (const { name, about, columns } of await database.tables()) {
    screen.out(`${screen.paint.out.bold(name)}  ${about}\n`);
    const width = Math.max(...columns.map((column) => column.name.length));
    const types = Math.max(...columns.map(({ type }) => type.length));
    for (const column of columns)
      screen.out(`  ${column.name.padEnd(width)}  ${column.type.padEnd(types)}  ${column.about}\n`);
    screen.out("\n");
  }
  return EXIT.completed;
}

async function exported(database: Sql, target: string | undefined, screen: Screen): Promise<number> {
  if (target === undefined) throw new UsageError("Where to? skein sql export DIR, or FILE.duckdb.");
  try {
    for (const path of await exportTables(database, target)) screen.out(`${visible(path)}\n`);
    return EXIT.completed;
  } catch (error) {
    if (error instanceof SqlError || !(error instanceof Error)) throw error;
    screen.note(`${visible(error.message)}\n`);
    return EXIT.io;
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
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
        cache: { type: "boolean", default: true },
        help: { type: "boolean", short: "h" },
      },
      allowPositionals: true,
      allowNegative: true,
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function formatOf(values: Readonly<Record<string, unknown>>): Format {
  const given = FORMATS.filter((format) => values[format] === true);
  if (given.length > 1) throw new UsageError(`--${given.join(" and --")} at once: choose one.`);
  return given[0] ?? "table";
}

/** The store that was named, or the one in the data folder if there is one: a question makes no store. */
function storeUrlOf(given: string | undefined): string | undefined {
  const { storeUrl, dataDir } = readConfig();
  const file = join(dataDir, "skein.db");
  return given ?? storeUrl ?? (existsSync(file) ? `sqlite:${file}` : undefined);
}

function cacheFolder(env: NodeJS.ProcessEnv): string {
  return env["SKEIN_CACHE_DIR"] ?? join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "skein");
}
