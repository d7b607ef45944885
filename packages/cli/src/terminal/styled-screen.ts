import { hasColours } from "./screen.ts";
import { jsonPieces } from "./json-pieces.ts";
import { createOutput } from "./output.ts";
import { type Paint, type Styled, createPaint } from "./styled.ts";

/**
 * Output of commands that show transcripts. It escapes the values in styled text and in JSON, so that no text of a
 * transcript reaches a terminal unescaped. Only the callers of `data` must escape their text themselves.
 */
export interface StyledScreen {
  readonly isTerminal: boolean;
  /** The width of the terminal. Infinity for a pipe, so that nothing is shortened. */
  readonly columns: number;
  readonly paint: Paint;
  print(...lines: readonly Styled[]): Promise<void>;
  /** Writes requested data (Markdown, HTML or lines) unchanged. The caller must escape data for a terminal. */
  data(content: string | Uint8Array): Promise<void>;
  /** Writes a value as JSON, with an indent of 2 by default. With the indent 0, the JSON is on one line. */
  json(value: unknown, indent?: number): Promise<void>;
  /** Writes a remark to standard error. */
  note(line: Styled): void;
  /** Shows the progress of long work on a terminal. Undefined removes the line. */
  progress(line: Styled | undefined): void;
  /** Whether the reader has stopped (`| head`, or `q` in the pager). If so, long work may stop too. */
  readonly isClosed: boolean;
  close(): Promise<void>;
}

export interface StyledScreenOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly usesPager: boolean;
}

export function createStyledScreen({ env, usesPager }: StyledScreenOptions): StyledScreen {
  const { stdout, stderr } = process;
  const isTerminal = stdout.isTTY;
  const output = createOutput({ stdout, env, pages: usesPager });
  let progressShown = false;

  const clear = (): void => {
    if (progressShown) stderr.write("\r\u001B[K");
    progressShown = false;
  };

  const write = async (text: string | Uint8Array): Promise<void> => {
    clear();
    await output.write(text);
  };

  return {
    isTerminal,
    columns: isTerminal ? Math.max(40, stdout.columns || 80) : Number.POSITIVE_INFINITY,
    paint: createPaint(hasColours(stdout, env)),
    get isClosed() {
      return output.isClosed;
    },
    print: async (...lines) => write(lines.map(({ text }) => `${text}\n`).join("")),
    data: write,
    async json(value, indent = 2) {
      for (const piece of jsonPieces(value, indent)) await write(piece);
      await write("\n");
    },
    note(line) {
      clear();
      stderr.write(`${line.text}\n`);
    },
    progress(line) {
      if (!stderr.isTTY || output.isPaging) return;
      clear();
      if (!line) return;
      stderr.write(`\r${line.text}`);
      progressShown = true;
    },
    async close() {
      clear();
      await output.close();
    },
  };
}
