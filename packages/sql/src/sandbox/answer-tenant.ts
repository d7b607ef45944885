/**
 * The program inside the sandbox that answers one statement over the rows of a tenant.
 *
 * The sandbox (`bubblewrap.ts`) enforces its limits; the settings below only give clearer errors.
 */
import { DuckDBInstance, StatementType } from "@duckdb/node-api";
import { statementsOf } from "../plan/split-statements.ts";
import { MEMORY, answerQuery } from "./answer-query.ts";

await answerQuery(async ({ file, statement }) => {
  const instance = await DuckDBInstance.create(file ?? ":memory:", {
    ...(file !== null && { access_mode: "READ_ONLY" }),
    memory_limit: MEMORY,
    threads: "2",
    temp_directory: "",
    enable_external_access: "false",
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
  });
  const connection = await instance.connect();
  const run = async (sql: string): Promise<unknown> => connection.run(sql);
  // DuckDB reads only few rows ahead, because the client may never need them and DuckDB underestimates the size of long
  // texts.
  await run("SET streaming_buffer_size = '64KB'; SET lock_configuration = true");
  const statements = await connection.extractStatements(statement).catch((error: Error) => {
    // DuckDB's error for a text without a statement is unclear, so a clear error replaces it.
    throw error.message.includes("native callback") ? new Error("There is no statement.") : error;
  });
  const given = statementsOf(statement).length;
  if (given > 1 || statements.count === 0)
    throw new Error(`Send one statement at a time. The text has ${given} statements.`);
  await run("BEGIN");
  const last = statements.count - 1;
  // DuckDB makes two statements from a PIVOT. The first statement creates a type with the columns that it finds.
  for (let at = 0; at < last; at += 1) {
    const before = await statements.prepare(at);
    if (before.statementType !== StatementType.CREATE) throw new Error("Send one statement at a time.");
    await before.run();
  }
  return { prepared: await statements.prepare(last), run };
});
