/**
 * The program inside the sandbox that answers one statement over Claude Code's files and the rows of a tenant.
 *
 * The files are read in place or from the cached copy. DuckDB's settings below reject access to anything else with a
 * clear error; the sandbox enforces the same limits.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createSql } from "../create-sql.ts";
import { namesPlatform } from "../plan/named-tables.ts";
import { literals } from "../database/quote.ts";
import { isStatement, splitStatements } from "../plan/split-statements.ts";
import { PLATFORM_COLUMNS } from "../tables/platform-tables.ts";
import { MEMORY, answerQuery } from "./answer-query.ts";
import type { HistoryFolders } from "./bubblewrap.ts";

const { roots, cacheFolder } = JSON.parse(process.argv[2] ?? "{}") as HistoryFolders;
const sql = await createSql({ roots, cacheFolder, memoryLimit: MEMORY, threads: 2 });
const ownFolders = readdirSync("/tmp")
  .filter((name) => name.startsWith("skein-sql-"))
  .map((name) => join("/tmp", name));
// Does all work that does not depend on the query.
await sql.tables();

await answerQuery(async ({ file, statement }) => {
  const { whole, rest } = splitStatements(statement);
  const statements = [...whole, rest].filter(isStatement);
  if (statements.length !== 1)
    throw new Error(
      statements.length === 0
        ? "There is no statement."
        : `Send one statement at a time. The text has ${statements.length} statements.`,
    );
  if (file !== null && namesPlatform(statement)) {
    await sql.run(`ATTACH '${file}' AS rows (READ_ONLY)`);
    for (const table of Object.keys(PLATFORM_COLUMNS))
      await sql.run(`DROP TABLE memory.${table}; CREATE VIEW memory.${table} AS FROM rows.${table}`);
  }
  // DuckDB reads only transcripts from disk. The rows of other files are in its memory before the statement runs.
  const readable = [...roots.map((root) => join(root, "projects")), ...ownFolders];
  await sql.run(`SET streaming_buffer_size = '64KB'; SET allowed_directories = ${literals(readable)};
    SET enable_external_access = false; SET lock_configuration = true; BEGIN`);
  return { prepared: await sql.prepare(statements[0] ?? ""), run: (own) => sql.run(own) };
});
