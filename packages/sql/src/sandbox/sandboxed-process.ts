import { spawn } from "node:child_process";
import { copyFileSync, linkSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { FILTER_PIPE, type FoundSandbox, type Walls } from "./bubblewrap.ts";
import type { PipeMessage, Job } from "./pipe-messages.ts";
import { readMessages } from "./read-pipe.ts";

/** A process in the sandbox that waits for one query. */
export interface SandboxedProcess {
  /** Sends the query. Yields messages until the process ends. */
  ask(job: Omit<Job, "file">, database: string | null): AsyncGenerator<PipeMessage>;
  /** Kills the process and its children. */
  stop(): void;
  /** Returns the standard error of bubblewrap and Node in a trial. Empty for other processes. */
  errorOutput(): string;
  readonly ended: Promise<{ readonly signal: NodeJS.Signals | null; readonly code: number | null }>;
}

export function startSandboxed(
  sandboxed: Extract<FoundSandbox, { command: string }>,
  { walls, folder, isTrial }: { readonly walls: Walls; readonly folder: string; readonly isTrial: boolean },
): SandboxedProcess {
  // This folder is mounted as /data. It stays empty until a query arrives, because the tenant of the query is not known
  // before.
  const data = mkdtempSync(join(folder, "query-"));
  const child = spawn(sandboxed.command, sandboxed.args(walls, data, { isTrial }), {
    env: {},
    cwd: "/",
    // The child gets a new process group, so that both processes of bubblewrap can be killed together. Just after the
    // start, the second process survives if only the first process is killed.
    detached: true,
    // Standard output is ignored, because a statement can make DuckDB print to it.
    stdio: ["pipe", "ignore", isTrial ? "pipe" : "ignore", "pipe", sandboxed.filter ? "pipe" : "ignore"],
  });
  const filtering = child.stdio[FILTER_PIPE] as Writable | null | undefined;
  // The process may end before it reads the filter. Callers learn this from `ended`, so the error is ignored.
  filtering?.on("error", () => {}).end(sandboxed.filter);
  let errorOutput = "";
  child.stderr?.on("data", (piece) => (errorOutput += String(piece)));
  const query = child.stdio[0] as Writable;
  const answer = child.stdio[3] as Readable;
  const ended = new Promise<Awaited<SandboxedProcess["ended"]>>((resolve) => {
    const end = (code: number | null, signal: NodeJS.Signals | null): void => {
      rmSync(data, { recursive: true, force: true });
      resolve({ code, signal });
    };
    child.once("exit", end);
    child.once("error", () => {
      answer.destroy();
      end(null, null);
    });
  });
  // The process may end before it reads the query. Callers learn this from `ended`, so the error is ignored.
  query.on("error", () => {});
  answer.on("error", () => {});

  return {
    async *ask(job, database) {
      if (database !== null) place(database, join(data, "rows.duckdb"));
      const file = database === null ? null : "/data/rows.duckdb";
      query.end(JSON.stringify({ ...job, file } satisfies Job));
      yield* readMessages(answer);
    },
    errorOutput: () => errorOutput.trim().slice(0, 500),
    stop() {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) killGroup(child.pid);
      query.destroy();
      answer.destroy();
    },
    ended,
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

/**
 * Links the database under a second name, which stays valid after the database is replaced. Copies the database if
 * links are not possible.
 */
function place(database: string, name: string): void {
  try {
    linkSync(database, name);
  } catch {
    copyFileSync(database, name);
  }
}
