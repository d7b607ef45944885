import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { PrivateFile } from "./private-file.ts";

/**
 * Where a command writes a long result: stdout, a pager or a file. `write` waits for a slow reader, and `isClosed` says
 * whether the reader has stopped.
 */
export interface Output {
  readonly isClosed: boolean;
  /** Whether a pager uses the terminal. */
  readonly isPaging: boolean;
  write(text: string | Uint8Array): Promise<void>;
  /** Completes the output. If a pager is open, waits until the person closes it. */
  close(): Promise<void>;
  /** Ends an incomplete output. A file is not created, but a reader of stdout has already got the beginning. */
  giveUp(): Promise<void>;
}

export interface OutputOptions {
  readonly stdout: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
  /** Whether output longer than the terminal is shown in a pager. */
  readonly pages: boolean;
  /** Called when a pager takes the keyboard, and when the pager gives the keyboard back. */
  paging?(isOpen: boolean): void;
}

export function createOutput({ stdout, env, pages, paging }: OutputOptions): Output {
  const pager = pages && stdout.isTTY ? pagerOf(env) : undefined;
  let child: ChildProcess | undefined;
  let held = "";
  let isClosed = false;
  const closed = (): void => {
    isClosed = true;
  };
  // The reader may close the pipe at any time. That is not an error.
  stdout.on("error", closed);

  const send = async (stream: NodeJS.WritableStream, text: string | Uint8Array): Promise<void> => {
    if (isClosed || text.length === 0) return;
    if (stream.write(text)) return;
    const done = new AbortController();
    const either = ["drain", "close", "error"].map((event) => once(stream, event, { signal: done.signal }));
    // A closed pipe also makes these promises fail. `closed` has already handled the error.
    for (const each of either) each.catch(() => undefined);
    await Promise.race(either).catch(() => undefined);
    done.abort();
  };

  const finish = async (): Promise<void> => {
    if (!child) return send(stdout, held);
    child.stdin?.end();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    paging?.(false);
  };
  const close = async (): Promise<void> => {
    await finish();
    stdout.off("error", closed);
    // The last write may still fail because nobody reads.
    if (!stdout.listeners("error").includes(ignored)) stdout.on("error", ignored);
  };

  return {
    get isClosed() {
      return isClosed;
    },
    get isPaging() {
      return child !== undefined && !isClosed;
    },
    async write(text) {
      if (pager === undefined) return send(stdout, text);
      if (child) return send(child.stdin ?? stdout, text);
      held += Buffer.from(text).toString();
      // A terminal that does not know its size reports 0 rows.
      if (held.split("\n").length <= (stdout.rows || 24)) return;
      paging?.(true);
      child = spawn(pager, {
        shell: true,
        stdio: ["pipe", "inherit", "inherit"],
        env: { LESS: "-RX", ...env, LESSSECURE: "1" },
      });
      child.on("error", closed);
      child.on("exit", closed);
      child.stdin?.on("error", closed);
      await send(child.stdin ?? stdout, held);
    },
    close,
    giveUp: close,
  };
}

function ignored(): void {}

/** Writes into a file. The file appears only when it is complete. */
export function createFileOutput(file: PrivateFile): Output {
  return {
    isClosed: false,
    isPaging: false,
    write: async (text) => file.write(text),
    close: async () => file.finish(),
    giveUp: async () => file.discard(),
  };
}

/** Returns the configured pager, or `less` if it is installed. */
function pagerOf(env: NodeJS.ProcessEnv): string | undefined {
  const given = env["PAGER"];
  if (given !== undefined) return given === "" || given === "cat" ? undefined : given;
  return (env["PATH"] ?? "").split(delimiter).some((folder) => canRun(join(folder, "less"))) ? "less" : undefined;
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
