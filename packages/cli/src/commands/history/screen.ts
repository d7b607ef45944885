import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { isatty } from "node:tty";
import { type Paint, type Styled, createPaint } from "./styled.ts";

/** Where a command writes. Only styled text and JSON get there, so nothing of a transcript arrives raw. */
export interface Screen {
  readonly isTerminal: boolean;
  /** Infinity when piped: then nothing is shortened. */
  readonly columns: number;
  readonly paint: Paint;
  print(...lines: readonly Styled[]): Promise<void>;
  /** Text that a person asked for as data (JSON, Markdown, HTML): as it is for a pipe, escaped for a terminal. */
  data(text: string): Promise<void>;
  /** A remark beside the output: standard error. */
  note(line: Styled): void;
  /** How far long work has come: only on a terminal, and gone when it is done. */
  progress(line: Styled | undefined): void;
  /** The reader has gone: `| head`, or `q` in the pager. Long work may stop. */
  readonly isClosed: boolean;
  close(): Promise<void>;
}

export interface ScreenOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly usesPager: boolean;
}

function ignored(): void {}

export function createScreen({ env, usesPager }: ScreenOptions): Screen {
  const { stdout, stderr } = process;
  const isTerminal = isatty(1);
  const hasColour = isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  const columns = isTerminal ? Math.max(40, stdout.columns || 80) : Number.POSITIVE_INFINITY;
  const pager = usesPager && isTerminal && env["PAGER"] !== "" && env["PAGER"] !== "cat";
  let child: ChildProcess | undefined;
  let isClosed = false;
  let progressShown = false;
  const closed = (): void => {
    isClosed = true;
  };
  // The reader may leave at any time; that is no error.
  stdout.on("error", closed);

  const clear = (): void => {
    if (progressShown) stderr.write("\r\u001B[K");
    progressShown = false;
  };

  const target = (): NodeJS.WritableStream => {
    if (!pager) return stdout;
    if (!child) {
      // Quits by itself if everything fits on one page, and shows colours but no other control characters.
      const less = { LESS: env["LESS"] ?? "-FRX", LESSSECURE: "1" };
      child = spawn(env["PAGER"] ?? "less", {
        shell: true,
        stdio: ["pipe", "inherit", "inherit"],
        env: { ...env, ...less },
      });
      child.on("error", closed);
      child.on("exit", closed);
      child.stdin?.on("error", closed);
    }
    return child.stdin ?? stdout;
  };

  const write = async (text: string): Promise<void> => {
    if (isClosed) return;
    clear();
    const stream = target();
    if (stream.write(text)) return;
    // Waiting for one of these fails if the reader leaves: `closed` has heard of that too.
    await Promise.race([once(stream, "drain"), once(stream, "close")]).catch(closed);
  };

  return {
    isTerminal,
    columns,
    paint: createPaint(hasColour),
    get isClosed() {
      return isClosed;
    },
    print: async (...lines) => write(lines.map(({ text }) => `${text}\n`).join("")),
    data: write,
    note(line) {
      clear();
      stderr.write(`${line.text}\n`);
    },
    progress(line) {
      if (!isatty(2) || (child && !isClosed)) return;
      clear();
      if (!line) return;
      stderr.write(`\r${line.text}`);
      progressShown = true;
    },
    async close() {
      clear();
      if (child?.exitCode === null && child.signalCode === null) {
        child.stdin?.end();
        await once(child, "exit");
      }
      stdout.off("error", closed);
      // What was written last may still find that nobody reads.
      if (!stdout.listeners("error").includes(ignored)) stdout.on("error", ignored);
    },
  };
}
