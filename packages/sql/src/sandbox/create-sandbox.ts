import { mkdirSync, rmSync } from "node:fs";
import { bubblewrapRefusal } from "@skein/core";
import { KnownError } from "@skein/protocol";
import type { Column } from "../answer/values.ts";
import { COMMAND_FOLDERS, type SandboxContent, type FoundSandbox, findSandbox } from "./bubblewrap.ts";
import type { PipeMessage, Job } from "./pipe-messages.ts";
import { type SandboxedProcess, startSandboxed } from "./sandboxed-process.ts";

/** A statement from a client, and its limits. */
export interface Query extends Omit<Job, "file" | "places" | "isFiltered"> {
  /** The database with the rows, or null. Queries only read it. */
  readonly database: string | null;
  readonly timeMs: number;
}

/** A part of an answer. The columns come first, then bytes in the requested format, then the end. */
export type Part =
  | { readonly kind: "columns"; readonly columns: readonly Column[] }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly rows: number; readonly truncated: boolean };

/** Runs each statement of a client in a separate sandboxed process. Decision 073 in docs/decisions has the reasons. */
export interface Sandbox {
  /** Starts a sandbox as a test. Returns the reason if it does not work on this machine, or undefined. */
  problem(): Promise<string | undefined>;
  /**
   * Throws `statement_failed` if DuckDB rejects the statement, and `over_limit` if the statement needs too much time or
   * memory.
   */
  ask(query: Query, signal: AbortSignal): AsyncGenerator<Part>;
  close(): Promise<void>;
}

export interface SandboxOptions extends SandboxContent {
  /** A folder that only this sandbox uses, on the disk where the databases are. */
  readonly folder: string;
  /** The memory limit of one process. */
  readonly memoryBytes?: number;
  /** How long an idle process waits for a query before it is stopped. */
  readonly spareMs?: number;
  /** The folders in which to look for bubblewrap. */
  readonly commandFolders?: readonly string[];
}

const MEMORY_BYTES = 1536 * 1024 * 1024;
const SPARE_MS = 60_000;
/**
 * The least limit of a process's processor time, and the limit for each second of a statement. DuckDB has two threads,
 * and Node has others. So the server stops a process before it reaches this limit, which matters only after the server
 * has died.
 */
const CPU_SECONDS = 60;
const CPU_PER_SECOND = 4;
const TRY = { statement: "SELECT 42", format: "jsonl", rows: 1, bytes: 1000 } as const;
const TRY_MS = 30_000;
/** The most bytes of an Arrow stream besides its rows. */
const SCHEMA_BYTES = 1024 * 1024;

type Found = Extract<FoundSandbox, { command: string }>;

/** A process that waits for the next query. */
interface Spare {
  readonly started: SandboxedProcess;
  readonly cpuSeconds: number;
  readonly timer: NodeJS.Timeout;
}

export function createSandbox(options: SandboxOptions): Sandbox {
  const { folder, memoryBytes = MEMORY_BYTES, spareMs = SPARE_MS, commandFolders = COMMAND_FOLDERS, history } = options;
  const all = new Set<SandboxedProcess>();
  let spare: Spare | undefined;
  let tried: Promise<FoundSandbox> | undefined;
  let closed = false;

  function start(sandboxed: Found, { cpuSeconds = CPU_SECONDS, isTrial = false } = {}): SandboxedProcess {
    const started = startSandboxed(sandboxed, { walls: { memoryBytes, cpuSeconds }, folder, isTrial });
    all.add(started);
    void started.ended.finally(() => {
      all.delete(started);
      if (spare?.started === started) forgetSpare();
    });
    return started;
  }

  function forgetSpare(): SandboxedProcess | undefined {
    clearTimeout(spare?.timer);
    const started = spare?.started;
    spare = undefined;
    return started;
  }

  /** Starts the process for the next query early, because starting it takes most of the time of a query. */
  function keepSpare(sandboxed: Found, cpuSeconds = CPU_SECONDS): void {
    if (spare || closed) return;
    const timer = setTimeout(() => forgetSpare()?.stop(), spareMs).unref();
    spare = { started: start(sandboxed, { cpuSeconds }), cpuSeconds, timer };
  }

  /** Returns a process that may use at least this processor time. */
  function processFor(sandboxed: Found, cpuSeconds: number): SandboxedProcess {
    if (spare && spare.cpuSeconds < cpuSeconds) forgetSpare()?.stop();
    return forgetSpare() ?? start(sandboxed, { cpuSeconds });
  }

  async function trial(): Promise<FoundSandbox> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const sandboxed = findSandbox(commandFolders, { history });
    if ("problem" in sandboxed) return sandboxed;
    // The process for the first query starts at the same time as the trial, so that the query does not wait for two
    // starts.
    keepSpare(sandboxed);
    const started = start(sandboxed, { isTrial: true });
    const timer = setTimeout(() => started.stop(), TRY_MS);
    let says = "the process ended without an answer.";
    try {
      for await (const message of started.ask(
        { ...TRY, places: sandboxed.places, isFiltered: sandboxed.filter !== undefined },
        null,
      )) {
        if (message.kind === "end") return sandboxed;
        if (message.kind === "failed") says = message.message;
      }
    } catch (error) {
      says = String(error);
    } finally {
      clearTimeout(timer);
      started.stop();
    }
    forgetSpare()?.stop();
    await started.ended;
    return { problem: `The SQL sandbox cannot be started: ${bubblewrapRefusal(started.errorOutput() || says)}` };
  }

  /**
   * Returns the sandbox. After a failed trial, the next call makes a new trial. So the server need not be restarted
   * after a missing program was installed.
   */
  async function found(): Promise<FoundSandbox> {
    const sandboxed = await (tried ??= trial());
    if ("problem" in sandboxed) tried = undefined;
    return sandboxed;
  }

  return {
    async problem() {
      const sandboxed = await found();
      return "problem" in sandboxed ? sandboxed.problem : undefined;
    },
    async *ask({ database, timeMs, ...job }, signal) {
      const sandboxed = await found();
      if ("problem" in sandboxed) throw new KnownError("sandbox_missing", sandboxed.problem);
      const cpuSeconds = Math.max(CPU_SECONDS, Math.ceil((timeMs / 1000) * CPU_PER_SECOND));
      const started = processFor(sandboxed, cpuSeconds);
      let isLate = false;
      const stop = (): void => started.stop();
      const timer = setTimeout(() => {
        isLate = true;
        stop();
      }, timeMs);
      signal.addEventListener("abort", stop);
      if (signal.aborted) stop();
      let bytes = 0;
      try {
        for await (const message of untilStopped(started.ask(job, database))) {
          if (message.kind === "failed") throw new KnownError(message.code, message.message);
          if (message.kind === "data") bytes += message.bytes.length;
          // The process limits its answer too, but a hostile statement may control the process.
          if (bytes > job.bytes + SCHEMA_BYTES) break;
          yield message;
          if (message.kind === "end") return;
        }
        if (isLate) throw new KnownError("over_limit", `The statement took longer than ${timeMs / 1000} s.`);
        throw new KnownError(
          "statement_failed",
          `The process of this statement ended without an answer. It needed more than ${memoryBytes >> 20} MB of memory, or DuckDB crashed.`,
        );
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
        stop();
        keepSpare(sandboxed, cpuSeconds);
      }
    },
    async close() {
      closed = true;
      const ends = [...all].map(({ ended }) => ended);
      for (const started of all) started.stop();
      await Promise.all(ends);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Yields the messages of a process until the process is stopped or sends invalid data. */
async function* untilStopped(messages: AsyncGenerator<PipeMessage>): AsyncGenerator<PipeMessage> {
  try {
    yield* messages;
  } catch {
    // The caller reports how the process ended.
  }
}
