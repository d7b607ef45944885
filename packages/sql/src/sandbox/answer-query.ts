/**
 * The code that both programs inside the sandbox share. A program waits for one query, answers it and exits.
 *
 * A program is started before there is a query, because loading DuckDB takes most of the time of a query.
 */
import { readdirSync, writeSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { type DuckDBPreparedStatement, StatementType } from "@duckdb/node-api";
import { failure } from "../sql-error.ts";
import { checkEnd } from "../answer/stream-transaction.ts";
import { columnsOf } from "../answer/values.ts";
import { type PipeMessage, type Job, encodeMessage } from "./pipe-messages.ts";
import { writeLines } from "./json-lines.ts";

/** A statement that is ready to run, in a transaction. */
export interface ReadyStatement {
  readonly prepared: DuckDBPreparedStatement;
  /** Runs a statement of Skein in the same transaction. */
  run(sql: string): Promise<unknown>;
}

/** DuckDB's memory limit. The limit of the process is higher. */
export const MEMORY = "600 MB";
const ANSWER_PIPE = 3;
/** The most bytes of an answer in one message. */
const PIECE_BYTES = 1024 * 1024;

export async function answerQuery(makeReady: (job: Job) => Promise<ReadyStatement>): Promise<never> {
  const job = JSON.parse(await text(process.stdin)) as Job;
  try {
    if (job.places) checkWalls(job.places, job.isFiltered === true);
    await answer(job, await makeReady(job));
  } catch (error) {
    const { message } = failure(job.statement, error);
    const isMemory = /^Out of Memory|bad_alloc|Array buffer allocation failed|Cannot create a string longer/.test(
      message,
    );
    send({
      kind: "failed",
      ...(isMemory
        ? { code: "over_limit", message: `The statement needs more memory than the limit of ${MEMORY}.` }
        : { code: "statement_failed", message }),
    });
  }
  // Threads that the statement started may still be running.
  return process.exit();
}

async function answer({ format, rows, bytes }: Job, { prepared, run }: ReadyStatement): Promise<void> {
  checkType(prepared);
  const result = await prepared.stream();
  const columns = columnsOf(result).map(({ type }, at) => ({ name: result.deduplicatedColumnNames()[at] ?? "", type }));
  const limits = { rows, bytes };
  if (format === "jsonl") {
    send({ kind: "columns", columns });
    const end = await writeLines({ result, columns, limits, write: sendData });
    if (!end.truncated) await checkEnd(prepared, run);
    send({ kind: "end", ...end });
    return;
  }
  const { writeArrow } = await import("./arrow.ts");
  let isBegun = false;
  const write = (bytes: Uint8Array): void => {
    // The columns are sent with the first rows. A statement that fails before its first rows is answered with only an
    // error.
    if (!isBegun) send({ kind: "columns", columns });
    isBegun = true;
    sendData(bytes);
  };
  const end = await writeArrow({ result, columns, limits, write }, () => checkEnd(prepared, run));
  send({ kind: "end", ...end });
}

/** The database is read-only in any case. This check gives a clearer error than DuckDB's. */
function checkType({ statementType }: DuckDBPreparedStatement): void {
  if (statementType === StatementType.SELECT || statementType === StatementType.EXPLAIN) return;
  throw new Error(
    `Only statements that read are allowed here (SELECT, DESCRIBE, EXPLAIN). This statement is ${StatementType[statementType]}.`,
  );
}

/**
 * Throws if the sandbox does not work. The process must see only the files, networks and variables that it was given.
 */
function checkWalls(places: readonly string[], isFiltered: boolean): void {
  const seen = readdirSync("/").filter((name) => !places.includes(name));
  const network = visibleNetwork();
  if (network && isFiltered) throw new Error("A process inside the sandbox can make sockets.");
  // Two things are always visible: the loopback interface of the sandbox's network, and the variable PWD.
  const addresses = Object.values(network ?? {}).flatMap((known) => known?.filter(({ internal }) => !internal) ?? []);
  const variables = Object.keys(process.env).filter((name) => name !== "PWD");
  if (seen.length > 0 || addresses.length > 0 || variables.length > 0)
    throw new Error(
      `A process inside the sandbox can see ${[...seen, ...addresses.map(({ address }) => address), ...variables].join(", ")}.`,
    );
}

/**
 * Returns the network that the process sees. Returns undefined if the process cannot make sockets, because Node needs a
 * socket to ask the kernel.
 */
function visibleNetwork(): ReturnType<typeof networkInterfaces> | undefined {
  try {
    return networkInterfaces();
  } catch {
    return undefined;
  }
}

function sendData(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    send({ kind: "data", bytes: bytes.subarray(at, at + PIECE_BYTES) });
}

function send(message: PipeMessage): void {
  const bytes = encodeMessage(message);
  for (let at = 0; at < bytes.length;) at += writeSync(ANSWER_PIPE, bytes, at);
}
