import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { text } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import type { CheckTask, Verdict } from "./checker.ts";
import type { ShortRunTask } from "./short-run.ts";
import type { WriterTask } from "./writer.ts";

/** A running writer process. Its reports go into its journal. */
export interface Writer {
  readonly child: ChildProcess;
  /** Returns about how many operations were acknowledged so far. */
  acknowledged(): number;
  /** Resolves when the process has opened its store or has ended. */
  readonly ready: Promise<unknown>;
  /** Resolves when the process has ended by itself and its journal is complete. */
  ended(): Promise<void>;
  /** Ends the process with SIGKILL and waits until its journal is complete. */
  kill(): Promise<void>;
}

export interface StartOptions {
  /** A command that runs the process, such as strace with its options. */
  readonly under?: readonly string[];
  /** The program to start. Default: `writer.ts`, which writes until it is killed. */
  readonly program?: "writer.ts" | "short-run.ts";
}

/** Starts a process that a test will kill, or in which a test lets a system call fail. */
export function startWriter(task: WriterTask | ShortRunTask, journal: string, options: StartOptions = {}): Writer {
  const { under = [], program = "writer.ts" } = options;
  const node = [...process.execArgv, `${import.meta.dirname}/${program}`, JSON.stringify(task)];
  const [command = process.execPath, ...before] = under.length > 0 ? [...under, process.execPath] : [];
  const child = spawn(command, [...before, ...node], {
    stdio: ["ignore", "ignore", "inherit", "pipe"],
    detached: under.length > 0,
  });
  const told = child.stdio[3] as NodeJS.ReadableStream;
  const file = createWriteStream(journal);
  let acknowledged = 0;
  let settle: (value: unknown) => void;
  const ready = new Promise<unknown>((resolve) => (settle = resolve));
  told.on("data", (bytes: Buffer) => {
    settle(true);
    for (let at = bytes.indexOf('"is":"ok"'); at >= 0; at = bytes.indexOf('"is":"ok"', at + 1)) acknowledged += 1;
  });
  told.pipe(file);
  const exited = once(child, "exit").then(() => settle(false));
  const ended = async (): Promise<void> => {
    await exited;
    await finished(file);
  };
  return {
    child,
    acknowledged: () => acknowledged,
    ready,
    ended,
    async kill() {
      // A command such as strace runs in a process group with the writer. The whole group is killed.
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
        process.kill(under.length > 0 ? -child.pid : child.pid, "SIGKILL");
      await ended();
    },
  };
}

/** Checks the store in a new process. */
export async function check(task: CheckTask): Promise<Verdict> {
  const args = [...process.execArgv, `${import.meta.dirname}/checker.ts`, JSON.stringify(task)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  try {
    return JSON.parse(out) as Verdict;
  } catch {
    const nothing = { openMs: 0, sessions: 0, events: 0, acknowledged: 0, unanswered: 0, happened: 0, repeated: [] };
    return { ...nothing, violations: [`The store could not be opened or checked: ${err.trim()}`] };
  }
}
