/**
 * The program inside the sandbox: answers one statement over one database and ends.
 *
 * It is started before there is a question, because loading DuckDB is most of what a question costs. The walls are those
 * of the operating system (`bubblewrap.ts`); the settings below only make refusals kinder.
 */
import { readdirSync, writeSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { type DuckDBConnection, DuckDBInstance, type DuckDBPreparedStatement, StatementType } from "@duckdb/node-api";
import { columnsOf } from "../values.ts";
import { type Frame, type Job, encoded } from "./frames.ts";
import { writeLines } from "./lines.ts";

const ANSWER_PIPE = 3;
/** What DuckDB may take of the memory that the process may take. */
const MEMORY = "600 MB";

const job = JSON.parse(await text(process.stdin)) as Job;
try {
  await answer(job);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const isMemory = /^Out of Memory|bad_alloc|Array buffer allocation failed|Cannot create a string longer/.test(
    message,
  );
  send({
    kind: "failed",
    ...(isMemory
      ? { code: "over_limit", message: `The statement needs more memory than it may take, which is ${MEMORY}.` }
      : { code: "statement_failed", message }),
  });
}
// Whatever a statement left running ends here.
process.exit();

async function answer({ file, statement, format, rows, bytes }: Job): Promise<void> {
  if (file === null) checkWalls();
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
  // What DuckDB makes ahead of what is read may be for nothing, and long texts in it are counted as short.
  await connection.run("SET streaming_buffer_size = '64KB'; SET lock_configuration = true");
  const statements = await connection.extractStatements(statement).catch((error: Error) => {
    // DuckDB finds nothing in a text without a statement, and its driver has no words for that.
    throw error.message.includes("native callback") ? new Error("There is no statement.") : error;
  });
  if (statements.count !== 1) throw new Error(`One statement is answered, and there are ${statements.count}.`);
  const prepared = await statements.prepare(0);
  checkType(prepared);
  await connection.run("BEGIN");
  const result = await prepared.stream();
  const columns = columnsOf(result).map(({ type }, at) => ({ name: result.deduplicatedColumnNames()[at] ?? "", type }));
  const limits = { rows, bytes };
  if (format === "jsonl") {
    send({ kind: "columns", columns });
    const end = await writeLines({ result, columns, limits, write: sendData });
    if (!end.truncated) await checkEnd(connection, prepared);
    send({ kind: "end", ...end });
    return;
  }
  const { arrowStream } = await import("./arrow.ts");
  const { stream, ...end } = await arrowStream({ result, columns, limits });
  if (!end.truncated) await checkEnd(connection, prepared);
  send({ kind: "columns", columns });
  sendData(stream);
  send({ kind: "end", ...end });
}

/**
 * A stream that fails on its way ends like one that is at its end, and DuckDB's driver does not tell them apart. The
 * transaction does: it is broken after a failure. What failed is learnt by running the statement again.
 */
async function checkEnd(connection: DuckDBConnection, prepared: DuckDBPreparedStatement): Promise<void> {
  try {
    await connection.run("SELECT 1");
  } catch {
    await connection.run("ROLLBACK");
    await prepared.run();
    throw new Error("The statement failed after its first rows.");
  }
}

/** The database is read-only in any case; a refusal that says so is better than one that DuckDB words. */
function checkType({ statementType }: DuckDBPreparedStatement): void {
  if (statementType === StatementType.SELECT || statementType === StatementType.EXPLAIN) return;
  throw new Error(
    `Only questions are answered here (SELECT, DESCRIBE, EXPLAIN), and this is ${StatementType[statementType]}.`,
  );
}

/** Says so if there is anything to see beyond what was put here: then the sandbox is none. */
function checkWalls(): void {
  const seen = readdirSync("/").filter((name) => !["data", "lib", "lib64", "skein", "usr", "nix"].includes(name));
  // A network of its own has a loopback of its own. bubblewrap says where it is, which is /.
  const addresses = Object.values(networkInterfaces()).flatMap(
    (known) => known?.filter(({ internal }) => !internal) ?? [],
  );
  const variables = Object.keys(process.env).filter((name) => name !== "PWD");
  if (seen.length > 0 || addresses.length > 0 || variables.length > 0)
    throw new Error(`It can see ${[...seen, ...addresses.map(({ address }) => address), ...variables].join(", ")}.`);
}

function sendData(bytes: Uint8Array): void {
  const PIECE = 1024 * 1024;
  for (let at = 0; at < bytes.length; at += PIECE) send({ kind: "data", bytes: bytes.subarray(at, at + PIECE) });
}

function send(frame: Frame): void {
  const bytes = encoded(frame);
  for (let at = 0; at < bytes.length;) at += writeSync(ANSWER_PIPE, bytes, at);
}
