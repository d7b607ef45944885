import { spawn } from "node:child_process";
import { copyFileSync, linkSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { FILTER_PIPE, type Sandboxed, type Walls } from "./bubblewrap.ts";
import type { Frame, Job } from "./pipe-messages.ts";
import { framesOf } from "./read-pipe.ts";

/** A process in the sandbox that waits for its one question. */
export interface Started {
  /** Asks it, over this database. The frames end with the process. */
  ask(job: Omit<Job, "file">, database: string | null): AsyncGenerator<Frame>;
  /** Ends it, whatever it is doing, and all that it has. */
  stop(): void;
  /** What bubblewrap or Node said on standard error, if that was listened to. */
  complaint(): string;
  /** How the process ended. */
  readonly ended: Promise<{ readonly signal: NodeJS.Signals | null; readonly code: number | null }>;
}

export function startSandboxed(
  sandboxed: Extract<Sandboxed, { command: string }>,
  { walls, folder, hears }: { readonly walls: Walls; readonly folder: string; readonly hears: boolean },
): Started {
  // Seen inside as /data. It is empty until there is a question: a process may wait for any tenant's.
  const data = mkdtempSync(join(folder, "question-"));
  const child = spawn(sandboxed.command, sandboxed.args(walls, data), {
    env: {},
    cwd: "/",
    // A session and a group of its own. bubblewrap binds the life of its second process to the first one's only after a
    // while: one that is stopped before that is stopped as a group.
    detached: true,
    // What a statement can make DuckDB print is nobody's to read.
    stdio: ["pipe", "ignore", hears ? "pipe" : "ignore", "pipe", sandboxed.filter ? "pipe" : "ignore"],
  });
  const filtering = child.stdio[FILTER_PIPE] as Writable | null | undefined;
  // It may be gone before it has read it: how it ended says so.
  filtering?.on("error", () => {}).end(sandboxed.filter);
  let complaint = "";
  child.stderr?.on("data", (piece) => (complaint += String(piece)));
  const question = child.stdio[0] as Writable;
  const answer = child.stdio[3] as Readable;
  const ended = new Promise<Awaited<Started["ended"]>>((resolve) => {
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
  // It may be gone before it has read its question: how it ended says so.
  question.on("error", () => {});
  answer.on("error", () => {});

  return {
    async *ask(job, database) {
      if (database !== null) place(database, join(data, "rows.duckdb"));
      const file = database === null ? null : "/data/rows.duckdb";
      question.end(JSON.stringify({ ...job, file } satisfies Job));
      yield* framesOf(answer);
    },
    complaint: () => complaint.trim().slice(0, 500),
    stop() {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) killGroup(child.pid);
      question.destroy();
      answer.destroy();
    },
    ended,
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}

/** The database under a second name, which stays when the first is replaced; a copy where that cannot be. */
function place(database: string, name: string): void {
  try {
    linkSync(database, name);
  } catch {
    copyFileSync(database, name);
  }
}
