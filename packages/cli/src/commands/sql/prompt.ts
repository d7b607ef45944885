import { appendFileSync, chmodSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { type Sql, SqlError, examples, splitStatements } from "@skein/sql";
import { explained } from "../../terminal/help.ts";
import { MissingError, UsageError } from "../../terminal/exit-codes.ts";
import type { Screen } from "../../terminal/screen.ts";
import { visible } from "../../terminal/visible-text.ts";
import { failureText, writeAnswer } from "./write-answer.ts";
import { completions } from "./complete.ts";
import { FORMATS, type Format } from "./formats.ts";
import { type Output, createOutput } from "../../terminal/output.ts";
import { printSchema, tablesNamed } from "./print-schema.ts";

const HELP = `A statement ends with a semicolon and may have several lines. Tab completes tables and columns.

  .tables           Every table
  .schema [TABLE]   Columns, and what they mean
  .examples [NAME]  Example queries; with NAME, runs one
  .mode FORMAT      ${FORMATS.join(", ")}
  .plot             The next answers as charts, or as rows again
  .timing           Show or hide the duration of each answer
  .exit             Leave (Ctrl-D does the same)

Ctrl-C stops a statement that is running, or throws away what was typed.
`;

export interface PromptDeps {
  readonly database: Sql;
  readonly screen: Screen;
  /** The file for the typed statements; null stores nothing. */
  readonly historyFile: string | null;
  readonly format: Format;
  /** Called when a statement has ended. */
  answered(): void;
}

const HISTORY_LINES = 1000;

/** Reads statements from a terminal, and runs them one after the other. */
export async function ask(deps: PromptDeps): Promise<void> {
  const { database, screen, historyFile } = deps;
  const { note: paint } = screen.paint;
  let { format } = deps;
  let plots = false;
  let times = true;
  let typed = "";
  let isRunning = false;
  let isClosed = false;
  const tables = await database.tables();

  const input = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: true,
    history: readHistory(historyFile),
    historySize: HISTORY_LINES,
    removeHistoryDuplicates: true,
    completer: (line: string) => {
      const [found, word] = completions(tables, typed + line);
      return [[...found], word];
    },
  });
  input.once("close", () => (isClosed = true));
  const next = (): void => {
    // Ctrl-D may have been typed while a statement ran.
    if (isClosed) return;
    input.setPrompt(typed === "" ? "skein> " : "  ...> ");
    input.prompt();
  };

  /** A pager reads the same keyboard, so the prompt must not read while the pager is open. */
  const paging = (isOpen: boolean): void => {
    if (isClosed) return;
    process.stdin.setRawMode(!isOpen);
    if (isOpen) {
      input.pause();
      process.on("SIGINT", stop);
    } else {
      process.off("SIGINT", stop);
      input.resume();
    }
  };

  async function show(statement: string): Promise<void> {
    let started = performance.now();
    for await (const answer of database.stream(statement)) {
      const output: Output = createOutput({ stdout: process.stdout, env: process.env, pages: true, paging });
      let rows = 0;
      let ms = 0;
      try {
        rows = await writeAnswer(answer, {
          mustFit: screen.tableColumns !== undefined,
          format: plots ? "plot" : format,
          columns: process.stdout.columns || 80,
          output,
        });
        ms = Math.round(performance.now() - started);
      } finally {
        await output.close();
      }
      const took = `${rows} ${rows === 1 ? "row" : "rows"} in ${ms} ms`;
      if (times) screen.note(paint.dim(`${took}\n`));
      started = performance.now();
    }
  }

  async function run(statement: string): Promise<void> {
    isRunning = true;
    try {
      await show(statement);
    } catch (error) {
      if (!(error instanceof SqlError) && !(error instanceof UsageError)) throw error;
      const isStopped = error.message.startsWith("INTERRUPT");
      screen.note(isStopped ? paint.yellow("Stopped.\n") : `${paint.red(failureText(error))}\n`);
    } finally {
      isRunning = false;
      deps.answered();
    }
  }

  async function showSchema(name: string | undefined): Promise<void> {
    try {
      printSchema(tablesNamed(await database.tables(), name), screen);
    } catch (error) {
      if (!(error instanceof MissingError)) throw error;
      screen.note(`${visible(error.message)}\n`);
    }
  }

  /** Runs a line that begins with a dot as a command of the prompt. */
  async function obey(line: string): Promise<"leave" | void> {
    const [word, name] = line.trim().split(/\s+/);
    switch (word) {
      case ".exit":
      case ".quit":
        return "leave";
      case ".help":
        return screen.out(HELP);
      case ".tables":
        return screen.out(
          `${explained(
            (await database.tables()).map(({ name: table, about }) => [table, about]),
            screen.helpColumns,
          ).join("\n")}\n`,
        );
      case ".schema":
        return showSchema(name);
      case ".mode": {
        const known = FORMATS.find((each) => each === name);
        if (known) format = known;
        else screen.note(`There are ${FORMATS.join(", ")}.\n`);
        return;
      }
      case ".plot":
        plots = !plots;
        return screen.note(plots ? "Answers are charts.\n" : "Answers are rows.\n");
      case ".timing":
        times = !times;
        return;
      case ".examples": {
        const example = examples().find((each) => each.name === name);
        if (example) {
          screen.out(`${example.sql}\n`);
          return run(example.sql);
        }
        for (const each of examples()) screen.out(`${each.name.padEnd(20)}  ${each.question}\n`);
        return;
      }
      default:
        screen.note(`There is no ${visible(word ?? "")}. .help lists what you can type.\n`);
    }
  }

  async function hear(line: string): Promise<"leave" | void> {
    if (typed === "" && line.trimStart().startsWith(".")) return obey(line);
    typed += `${line}\n`;
    const { whole, rest } = splitStatements(typed);
    // Only complete statements run. A semicolon inside an open string does not end a statement.
    typed = rest.trim() === "" ? "" : rest.trimStart();
    for (const statement of whole) await run(statement);
  }

  const stop = (): void => database.interrupt();
  input.on("SIGINT", () => {
    if (isRunning) return stop();
    if (typed === "" && input.line === "") screen.note("\nCtrl-D or .exit leaves.");
    typed = "";
    // The text on the current line is discarded.
    input.write(null, { ctrl: true, name: "e" });
    input.write(null, { ctrl: true, name: "u" });
    screen.note("\n");
    next();
  });

  screen.note(paint.dim("SQL over the sessions of coding agents and of Skein. .help lists what you can type.\n"));
  next();
  for await (const line of input) {
    keep(historyFile, line);
    if ((await hear(line)) === "leave") break;
    next();
  }
  input.close();
}

/** Returns the typed lines, the newest first, as readline expects them. */
function readHistory(file: string | null): string[] {
  if (file === null) return [];
  try {
    const lines = readFileSync(file, "utf8").split("\n");
    return lines
      .filter((line) => line !== "")
      .toReversed()
      .slice(0, HISTORY_LINES);
  } catch {
    return [];
  }
}

function keep(file: string | null, line: string): void {
  if (file === null || line.trim() === "") return;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    appendFileSync(file, `${line}\n`, { mode: 0o600 });
    chmodSync(file, 0o600);
  } catch {
    // A history that cannot be saved is not an error.
  }
}
