import { spawn } from "node:child_process";
import { copyFileSync, linkSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { FILTER_PIPE, type FoundSandbox, type Walls } from "./bubblewrap.ts";
import type { PipeMessage, Job } from "./pipe-messages.ts";
import { readMessages } from "./read-pipe.ts";

/** A process in the sandbox that waits for one query. */
export interface SandboxedProcess {
  /** Sends the query. The messages end when the process does. */
  ask(job: Omit<Job, "file">, database: string | null): AsyncGenerator<PipeMessage>;
  /** Kills the process and its children. */
  stop(): void;
  /** What bubblewrap or Node wrote to standard error, if this is a trial. */
  errorOutput(): string;
  /** How the process ended. */
  readonly ended: Promise<{ readonly signal: NodeJS.Signals | null; readonly code: number | null }>;
}

export function startSandboxed(
  sandboxed: Extract<FoundSandbox, { command: string }>,
  { walls, folder, isTrial }: { readonly walls: Walls; readonly folder: string; readonly isTrial: boolean },
): SandboxedProcess {
  // This folder is mounted as /data. It is empty until there is a query, because the process may get the query of any
  // tenant.
  const data = mkdtempSync(join(folder, "query-"));
  const child = spawn(sandboxed.command, sandboxed.args(walls, data, { isTrial }), {
    env: {},
    cwd: "/",
    // The child gets its own process group, so that both processes of bubblewrap can be killed together. Just after the start,
    // killing the first one does not yet end the second one.
    detached: true,
    // Standard output is ignored: a statement can make DuckDB print there.
    stdio: ["pipe", "ignore", isTrial ? "pipe" : "ignore", "pipe", sandboxed.filter ? "pipe" : "ignore"],
  });
  const filtering = child.stdio[FILTER_PIPE] as Writable | null | undefined;
  // The process may end before it reads the filter; `ended` reports it.
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
  // The process may end before it reads its query; `ended` reports it.
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
    // The process has ended in the meantime.
  }
}

/** Links the database under a second name, which stays valid when the first is replaced. Copies it if links are not possible. */
function place(database: string, name: string): void {
  try {
    linkSync(database, name);
  } catch {
    copyFileSync(database, name);
  }
}
