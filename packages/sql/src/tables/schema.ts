/** What stands in the database, in the order in which it can be made. */
import { CLAUDE_TABLES } from "./claude-tables.ts";
import { SCAN_TABLES, scanPieces } from "./pieces.ts";
import { PLATFORM_TABLES } from "./platform-tables.ts";
import { PRICES_SQL } from "./prices.ts";
import { FILES, LINE_ROOM, OBJECTS, SCAN_MACROS, scanAnswers, scanRows } from "./scan.ts";
import { MAIN_TABLES } from "./main-tables.ts";

/** Before any file is known. */
export const BASE = `
CREATE SCHEMA skein; CREATE SCHEMA scan; CREATE SCHEMA claude;
${FILES}${SCAN_TABLES}${SCAN_MACROS}${PRICES_SQL}`;

/** The same in a database of Skein's own. Small chunks are not put together: with long texts that takes more memory than it saves time. */
export const START = `SET enable_caching_operators = false; SET VARIABLE skein_tolerant = true; ${LINE_ROOM} ${BASE}`;

/** What reads transcripts in place. A view is bound when it is made, which takes time: nothing makes it in vain. */
export const scanSql = (form: { readonly numbered: boolean }): string =>
  `${scanRows(form)}${scanAnswers(form)}${scanPieces(form)}`;

/** The tables that people ask, once the pieces are there. */
export const TABLES = `${OBJECTS}${MAIN_TABLES}${CLAUDE_TABLES}${PLATFORM_TABLES}`;
