/**
 * The program inside the sandbox that answers one statement over the rows of a tenant.
 *
 * The walls are those of the operating system (`bubblewrap.ts`); the settings below only make refusals kinder.
 */
import { DuckDBInstance } from "@duckdb/node-api";
import { statementsOf } from "../statements.ts";
import { MEMORY, answerOne } from "./answer-one.ts";

await answerOne(async ({ file, statement }) => {
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
  // What DuckDB makes ahead of what is read may be for nothing, and long texts in it are counted as short.
  await run("SET streaming_buffer_size = '64KB'; SET lock_configuration = true");
  const statements = await connection.extractStatements(statement).catch((error: Error) => {
    // DuckDB finds nothing in a text without a statement, and its driver has no words for that.
    throw error.message.includes("native callback") ? new Error("There is no statement.") : error;
  });
  // DuckDB makes two statements of it, and the first one is no question.
  if (statements.count > 1 && statementsOf(statement).length === 1)
    throw new Error("PIVOT must say which values become columns: PIVOT … ON status IN ('a', 'b') …");
  if (statements.count !== 1) throw new Error(`One statement is answered, and there are ${statements.count}.`);
  await run("BEGIN");
  return { prepared: await statements.prepare(0), run };
});
