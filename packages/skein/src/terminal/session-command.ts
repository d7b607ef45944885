import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Sessions, type Store, createSessions } from "@skein/core";
import { type Config, readConfig } from "../config.ts";
import { openStore } from "../open-store.ts";
import { type CommandHelp, helpOf } from "./command-help.ts";
import { EXIT, UsageError, failureOf } from "./exit.ts";
import { type Screen, createScreen } from "./screen.ts";
import { visible } from "./visible.ts";

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>["options"]>;
export type Values = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

/** What a command is given. */
export interface Call {
  readonly values: Values;
  readonly words: readonly string[];
  readonly screen: Screen;
  readonly config: Config;
}

/** One command about sessions: its options, its help, and what it does. */
export interface SessionCommand extends CommandHelp {
  readonly run: (call: Call) => Promise<number>;
}

export const STORE_OPTION = [
  "store",
  "URL",
  "sqlite:FILE, file:FOLDER, postgres://… (default: sqlite in ~/.skein)",
] as const;
export const JSON_OPTION = ["json", null, "JSON, one value per line"] as const;

/** How long something that was started may go on after its command has ended. */
const LINGER_MS = 500;

/** Runs a command: what the caller did wrong is one sentence on stderr and an exit code, never a stack. */
export async function runCommand(command: SessionCommand, args: readonly string[]): Promise<number> {
  const screen = createScreen();
  // Following a store alone keeps no process alive.
  const alive = setInterval(() => {}, 2 ** 30);
  try {
    const { values, words } = parsed(command, args);
    if (values["help"] === true) {
      screen.out(helpOf(command));
      return EXIT.completed;
    }
    return await command.run({ values, words, screen, config: readConfig() });
  } catch (error) {
    const failure = failureOf(error);
    if (!failure) throw error;
    screen.note(`${visible(failure.message)}\n`);
    if (failure.exitCode === EXIT.usage && error instanceof UsageError)
      screen.note(`"skein ${command.name} --help" shows how it is called.\n`);
    return failure.exitCode;
  } finally {
    clearInterval(alive);
    // A tool that does not listen to its signal must not keep the command from ending.
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }
}

/** Commands with a second word: `skein sessions list`. */
export async function runGroup(
  group: { readonly name: string; readonly commands: Readonly<Record<string, SessionCommand>> },
  args: readonly string[],
): Promise<number> {
  const [name, ...rest] = args;
  const screen = createScreen();
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const width = Math.max(...Object.keys(group.commands).map(({ length }) => length));
    const lines = Object.entries(group.commands).map(([key, { summary }]) => `  ${key.padEnd(width)}  ${summary}`);
    screen.out(
      `Usage: skein ${group.name} <command> [options]\n\nCommands:\n${lines.join("\n")}\n\n"skein ${group.name} <command> --help" shows the options and examples of one.\n`,
    );
    return EXIT.completed;
  }
  const command = Object.hasOwn(group.commands, name) ? group.commands[name] : undefined;
  if (command) return runCommand(command, rest);
  screen.note(
    `skein ${group.name} has no command "${visible(name)}". "skein ${group.name} --help" lists the ones it has.\n`,
  );
  return EXIT.usage;
}

function parsed({ options }: SessionCommand, args: readonly string[]): { values: Values; words: readonly string[] } {
  const known: Options = { help: { type: "boolean", short: "h" } };
  for (const [name, argument] of options) known[name] = { type: argument === null ? "boolean" : "string" };
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: known, allowPositionals: true });
    return { values, words: positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** The text of an option, if it was given. */
export function text(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}

/** The store that a command works on: the option's, the environment's, or the one in the data folder. */
export function storeUrlFor({ values, config }: Call): string {
  const given = text(values, "store") ?? config.storeUrl;
  if (given !== undefined) return given;
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  return `sqlite:${join(config.dataDir, "skein.db")}`;
}

/** Looks into a store without driving anything in it. */
export async function withSessions<Result>(
  call: Call,
  use: (sessions: Sessions, store: Store) => Promise<Result>,
): Promise<Result> {
  const done = call.screen.progress("Opening the store");
  const store = await openStore(storeUrlFor(call)).finally(done);
  try {
    return await use(createSessions({ store }), store);
  } finally {
    await store.close();
  }
}

/** The words after the command: exactly so many, named for the sentence that says what is missing. */
export function wordsOf({ words }: Call, ...names: readonly string[]): readonly string[] {
  if (words.length !== names.length)
    throw new UsageError(
      `Expected ${names.length === 0 ? "no words" : names.join(" ")}, and got ${words.length === 0 ? "nothing" : `${words.length} ${words.length === 1 ? "word" : "words"}`}.`,
    );
  return words;
}
