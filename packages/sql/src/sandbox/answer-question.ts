/**
 * What a program inside the sandbox does: it waits for its one question, answers it and ends.
 *
 * It is started before there is a question, because loading DuckDB is most of what a question costs.
 */
import { readdirSync, writeSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { type DuckDBPreparedStatement, StatementType } from "@duckdb/node-api";
import { failure } from "../sql-error.ts";
import { checkEnd } from "../answer/stream-transaction.ts";
import { columnsOf } from "../answer/values.ts";
import { type Frame, type Job, encoded } from "./pipe-messages.ts";
import { writeLines } from "./json-lines.ts";

/** A statement that is ready to run, inside of a transaction. */
export interface Ready {
  readonly prepared: DuckDBPreparedStatement;
  /** Runs a statement of our own. */
  run(sql: string): Promise<unknown>;
}

/** What DuckDB may take of the memory that the process may take. */
export const MEMORY = "600 MB";
const ANSWER_PIPE = 3;
/** Frames are cut into pieces of this size. */
const PIECE_BYTES = 1024 * 1024;

export async function answerOne(makeReady: (job: Job) => Promise<Ready>): Promise<never> {
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
        ? { code: "over_limit", message: `The statement needs more memory than it may take, which is ${MEMORY}.` }
        : { code: "statement_failed", message }),
    });
  }
  // Whatever a statement left running ends here.
  return process.exit();
}

async function answer({ format, rows, bytes }: Job, { prepared, run }: Ready): Promise<void> {
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
    // Not before there are rows: until then a failure is said as such.
    if (!isBegun) send({ kind: "columns", columns });
    isBegun = true;
    sendData(bytes);
  };
  const end = await writeArrow({ result, columns, limits, write }, () => checkEnd(prepared, run));
  send({ kind: "end", ...end });
}

/** Nothing that is read can be written in any case; a refusal that says so is better than one that DuckDB words. */
function checkType({ statementType }: DuckDBPreparedStatement): void {
  if (statementType === StatementType.SELECT || statementType === StatementType.EXPLAIN) return;
  throw new Error(
    `Only questions are answered here (SELECT, DESCRIBE, EXPLAIN), and this is ${StatementType[statementType]}.`,
  );
}

/** Says so if there is anything to see beyond what was put here: then the sandbox is none. */
function checkWalls(places: readonly string[], isFiltered: boolean): void {
  const seen = readdirSync("/").filter((name) => !places.includes(name));
  const network = knownNetwork();
  if (network && isFiltered) throw new Error("It can make sockets.");
  // A network of its own has a loopback of its own. bubblewrap says where it is, which is /.
  const addresses = Object.values(network ?? {}).flatMap((known) => known?.filter(({ internal }) => !internal) ?? []);
  const variables = Object.keys(process.env).filter((name) => name !== "PWD");
  if (seen.length > 0 || addresses.length > 0 || variables.length > 0)
    throw new Error(`It can see ${[...seen, ...addresses.map(({ address }) => address), ...variables].join(", ")}.`);
}

/** What a socket to the kernel says; undefined where none can be made. */
function knownNetwork(): ReturnType<typeof networkInterfaces> | undefined {
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

function send(frame: Frame): void {
  const bytes = encoded(frame);
  for (let at = 0; at < bytes.length;) at += writeSync(ANSWER_PIPE, bytes, at);
}
