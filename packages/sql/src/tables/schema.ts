/** The statements that create the database, in the order in which they must run. */
import { CLAUDE_TABLES } from "./claude-tables.ts";
import { SCAN_TABLES, scanPieces } from "./pieces.ts";
import { PLATFORM_TABLES } from "./platform-tables.ts";
import { PRICES_SQL } from "./prices.ts";
import { FILES, LINE_ROOM, OBJECTS, SCAN_MACROS, scanAnswers, scanRows } from "./scan.ts";
import { MAIN_TABLES } from "./main-tables.ts";

/** Schemas, tables and macros that need no file. */
export const BASE = `
CREATE SCHEMA skein; CREATE SCHEMA scan; CREATE SCHEMA claude;
${FILES}${SCAN_TABLES}${SCAN_MACROS}${PRICES_SQL}`;

/**
 * Like `BASE`, for the database inside Skein. DuckDB combines small chunks by default. With long texts, combining takes
 * much memory and saves little time, so Skein turns it off.
 */
export const START = `SET enable_caching_operators = false; SET VARIABLE skein_tolerant = true; ${LINE_ROOM} ${BASE}`;

/**
 * The views that read transcripts in place. They are made only if needed, because DuckDB needs time to bind a new view.
 */
export const scanSql = (form: { readonly numbered: boolean }): string =>
  `${scanRows(form)}${scanAnswers(form)}${scanPieces(form)}`;

/** The tables that people query. They need the views of the pieces. */
export const TABLES = `${OBJECTS}${MAIN_TABLES}${CLAUDE_TABLES}${PLATFORM_TABLES}`;
