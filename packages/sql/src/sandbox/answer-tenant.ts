/**
 * The program inside the sandbox that answers one statement over the rows of a tenant.
 *
 * The walls are those of the operating system (`bubblewrap.ts`); the settings below only make refusals kinder.
 */
import { DuckDBInstance, StatementType } from "@duckdb/node-api";
import { statementsOf } from "../plan/statements.ts";
import { MEMORY, answerOne } from "./answer-question.ts";

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
  const given = statementsOf(statement).length;
  if (given > 1 || statements.count === 0) throw new Error(`One statement is answered, and there are ${given}.`);
  await run("BEGIN");
  const last = statements.count - 1;
  // DuckDB makes two statements of a PIVOT: the first one looks what columns it has, and makes a type of that.
  for (let at = 0; at < last; at += 1) {
    const before = await statements.prepare(at);
    if (before.statementType !== StatementType.CREATE)
      throw new Error("One statement is answered, and there are more.");
    await before.run();
  }
  return { prepared: await statements.prepare(last), run };
});
