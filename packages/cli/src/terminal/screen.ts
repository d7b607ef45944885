import { EXIT } from "./exit-codes.ts";
import { type TextPaint, createTextPaint } from "./styled.ts";
import { visibleJson } from "./visible-text.ts";

/**
 * The output of a command. The result goes to `out` (stdout), all other text to `note` (stderr). Text must be escaped
 * with `visible` first.
 */
export interface Screen {
  out(text: string): void;
  note(text: string): void;
  json(value: unknown): void;
  /** Adds colours to text for `out` and for `note`. Without a terminal, the text stays unchanged. */
  readonly paint: { readonly out: TextPaint; readonly note: TextPaint };
  /** Whether a person sees the notes. */
  readonly isWatched: boolean;
  readonly columns: number;
  /** The largest width of a table; undefined if `out` is not a terminal. */
  readonly tableColumns?: number | undefined;
  /** The largest width of a note; undefined if `note` does not write to a terminal. */
  readonly noteColumns?: number | undefined;
  /** The width of help texts. On a wide terminal, it is limited, because long lines are hard to read. */
  readonly helpColumns: number;
  /** Sets what to do when the reader has closed `out`. Without this call, the process ends. */
  onUnread(stop: () => void): void;
  /** Shows what is in progress, once it has taken a second. Returns a function that removes the text. */
  progress(what: string | (() => string)): () => void;
}

export interface ScreenDeps {
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
}

const TICK_MS = 100;
const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export function createScreen(
  { out, err, env }: ScreenDeps = { out: process.stdout, err: process.stderr, env: process.env },
): Screen {
  const isWatched = err.isTTY;
  if (!out.listeners("error").includes(endUnread)) out.on("error", endUnread);

  function progress(what: string | (() => string)): () => void {
    const text = typeof what === "string" ? () => what : what;
    const started = Date.now();
    let shown = false;
    const tick = (): void => {
      const seconds = Math.floor((Date.now() - started) / 1000);
      if (seconds < 1) return;
      if (isWatched)
        err.write(`\r${SPINNER[Math.floor(Date.now() / TICK_MS) % SPINNER.length]} ${text()} (${seconds} s)\u001B[K`);
      else if (!shown) err.write(`${text()} …\n`);
      shown = true;
    };
    const timer = setInterval(tick, TICK_MS).unref();
    return () => {
      clearInterval(timer);
      if (shown && isWatched) err.write("\r\u001B[K");
    };
  }

  return {
    out: (text) => void out.write(text),
    note: (text) => void err.write(text),
    json: (value) => void out.write(`${visibleJson(value)}\n`),
    paint: { out: createTextPaint(hasColours(out, env)), note: createTextPaint(hasColours(err, env)) },
    isWatched,
    columns: out.columns || 100,
    tableColumns: out.isTTY && out.columns > 0 ? out.columns : undefined,
    noteColumns: err.isTTY && err.columns > 0 ? err.columns : undefined,
    helpColumns: out.isTTY && out.columns > 0 ? Math.min(120, out.columns) : Number.POSITIVE_INFINITY,
    onUnread(stop) {
      out.off("error", endUnread);
      out.on("error", (error: NodeJS.ErrnoException) => (error.code === "EPIPE" ? stop() : endUnread(error)));
    },
    progress,
  };
}

/** Colours are used on terminals that support them, unless the user turned them off. */
export function hasColours(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

function endUnread(error: NodeJS.ErrnoException): void {
  // A closed pipe (`| head`) is not an error.
  if (error.code === "EPIPE") process.exit(EXIT.completed);
  process.stderr.write(`The answer could not be written: ${error.message}.\n`);
  process.exit(EXIT.io);
}
