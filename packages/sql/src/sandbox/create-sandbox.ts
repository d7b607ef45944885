import { mkdirSync, rmSync } from "node:fs";
import { KnownError } from "@skein/protocol";
import type { Column } from "../answer/values.ts";
import { COMMAND_FOLDERS, type Inside, type Sandboxed, findSandbox } from "./bubblewrap.ts";
import type { Frame, Job } from "./pipe-messages.ts";
import { type Started, startSandboxed } from "./sandboxed-process.ts";

/** A statement that somebody else wrote. */
export interface Question extends Omit<Job, "file" | "places" | "isFiltered"> {
  /** The database that it is asked of, if there is one. It is only read. */
  readonly database: string | null;
  readonly timeMs: number;
}

/** The answer, piece by piece: the columns, then bytes in the format, then how it ended. */
export type Part =
  | { readonly kind: "columns"; readonly columns: readonly Column[] }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly rows: number; readonly truncated: boolean };

/** Runs statements that somebody else wrote, each in a process of its own that can do nothing else. */
export interface Sandbox {
  /** Why no statement can be run here; undefined if they can. Tries it out. */
  problem(): Promise<string | undefined>;
  /** Refuses with `statement_failed` what DuckDB refuses, and with `over_limit` what takes too long or too much. */
  ask(question: Question, signal: AbortSignal): AsyncGenerator<Part>;
  /** Ends every process. */
  close(): Promise<void>;
}

export interface SandboxOptions extends Inside {
  /** A folder of its own, on the disk where the databases are. */
  readonly folder: string;
  /** What one process may take. */
  readonly memoryBytes?: number;
  /** How long a process waits for a question before it is let go. */
  readonly spareMs?: number;
  /** Where bubblewrap is looked for. */
  readonly commandFolders?: readonly string[];
}

const MEMORY_BYTES = 1536 * 1024 * 1024;
const SPARE_MS = 60_000;
/** Processor seconds of a process: the clock of the server ends it long before, if there is a server. */
const CPU_SECONDS = 60;
const TRY = { statement: "SELECT 42", format: "jsonl", rows: 1, bytes: 1000 } as const;
const TRY_MS = 30_000;
/** What an Arrow stream may have beside its rows. */
const SCHEMA_BYTES = 1024 * 1024;

type Found = Extract<Sandboxed, { command: string }>;

export function createSandbox(options: SandboxOptions): Sandbox {
  const { folder, memoryBytes = MEMORY_BYTES, spareMs = SPARE_MS, commandFolders = COMMAND_FOLDERS, history } = options;
  const walls = { memoryBytes, cpuSeconds: CPU_SECONDS };
  const all = new Set<Started>();
  let spare: { readonly started: Started; readonly timer: NodeJS.Timeout } | undefined;
  let tried: Promise<Sandboxed> | undefined;
  let closed = false;

  function start(sandboxed: Found, isTrial = false): Started {
    const started = startSandboxed(sandboxed, { walls, folder, hears: isTrial });
    all.add(started);
    void started.ended.finally(() => {
      all.delete(started);
      if (spare?.started === started) forgetSpare();
    });
    return started;
  }

  function forgetSpare(): Started | undefined {
    clearTimeout(spare?.timer);
    const started = spare?.started;
    spare = undefined;
    return started;
  }

  /** Most of a question's time is the start of its process: the one for the next question starts at the end of this one. */
  function keepSpare(sandboxed: Found): void {
    if (spare || closed) return;
    const timer = setTimeout(() => forgetSpare()?.stop(), spareMs).unref();
    spare = { started: start(sandboxed), timer };
  }

  async function trial(): Promise<Sandboxed> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const sandboxed = findSandbox(commandFolders, { history });
    if ("problem" in sandboxed) return sandboxed;
    const started = start(sandboxed, true);
    const timer = setTimeout(() => started.stop(), TRY_MS);
    let says = "it ended without a word.";
    try {
      for await (const frame of started.ask(
        { ...TRY, places: sandboxed.places, isFiltered: sandboxed.filter !== undefined },
        null,
      )) {
        if (frame.kind === "end") return sandboxed;
        if (frame.kind === "failed") says = frame.message;
      }
    } catch (error) {
      says = String(error);
    } finally {
      clearTimeout(timer);
      started.stop();
    }
    await started.ended;
    return { problem: `bubblewrap does not work on this machine: ${started.complaint() || says}` };
  }

  /** Tried until it works: whoever installs what is missing need not start the server again. */
  async function found(): Promise<Sandboxed> {
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
      const started = forgetSpare() ?? start(sandboxed);
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
        for await (const frame of untilStopped(started.ask(job, database))) {
          if (frame.kind === "failed") throw new KnownError(frame.code, frame.message);
          if (frame.kind === "data") bytes += frame.bytes.length;
          // The process counts too; it is not believed.
          if (bytes > job.bytes + SCHEMA_BYTES) break;
          yield frame;
          if (frame.kind === "end") return;
        }
        if (isLate) throw new KnownError("over_limit", `The statement took longer than ${timeMs / 1000} s.`);
        throw new KnownError(
          "statement_failed",
          `The statement ended the process that it ran in. It took more than ${memoryBytes >> 20} MB of memory, or DuckDB broke.`,
        );
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
        stop();
        keepSpare(sandboxed);
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

/** The frames of a process, which are over when it is stopped, and when it says what is no frame. */
async function* untilStopped(frames: AsyncGenerator<Frame>): AsyncGenerator<Frame> {
  try {
    yield* frames;
  } catch {
    // How it ended is said by whoever reads this.
  }
}
