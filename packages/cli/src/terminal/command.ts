import { parseArgs } from "node:util";
import type { Config } from "skein/config";
import { UsageError } from "./exit-codes.ts";
import { counted } from "./counts.ts";
import type { Kind } from "./option-kinds.ts";
import { nearestName } from "@skein/protocol/nearest-name";
import type { Screen } from "./screen.ts";

/** An option of a command. */
export interface Option {
  readonly about: string;
  /** The name of the option's value in the help. Without this field, the option is a switch. */
  readonly takes?: string;
  /** The type of the value. Default: any text. */
  readonly kind?: Kind<unknown>;
  /** The one-letter form. */
  readonly short?: string;
  /** Whether the option may be given several times. */
  readonly several?: true;
  /** A switch that is on until `--no-NAME` turns it off. */
  readonly isOn?: true;
}

export type Options = Readonly<Record<string, Option>>;

type One<Given> = Given extends { kind: Kind<infer Value> } ? Value : string;
type ValueOf<Given> = Given extends { takes: string }
  ? (Given extends { several: true } ? readonly One<Given>[] : One<Given>) | undefined
  : boolean;

/** The values of the options. A switch always has a value, and other options may be undefined. */
export type Values<Given> = { readonly [Name in keyof Given]: ValueOf<Given[Name]> };

/** The input of a command when it runs. */
export interface Call<Given = unknown> {
  readonly values: Values<Given>;
  readonly words: readonly string[];
  readonly screen: Screen;
  readonly config: Config;
}

/** One command, with everything that argument parsing, help and errors need. */
export interface Command<Given extends Options = Options> {
  /** The name after `skein`: `sessions show`. */
  readonly name: string;
  readonly summary: string;
  /** The words that follow the name: `SESSION [FOLDER]`; `WORD…` means one or more words. */
  readonly words?: string;
  /** Alternative forms of the call instead of `words`, each with its purpose. */
  readonly forms?: readonly (readonly [words: string, about: string])[];
  readonly options?: Given;
  /** Example calls, with an explanation where it is needed. */
  readonly examples: readonly (string | readonly [line: string, about: string])[];
  /** The last lines of the help. */
  readonly notes?: string;
  /** Returns the exit code. */
  run(call: Call<Given>): Promise<number>;
}

/** Commands that share their first word: `skein sessions`. `skein` itself is the group without a name. */
export interface Group {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly (Command | Later)[];
  readonly examples?: readonly (readonly [line: string, about: string])[];
  readonly notes?: string;
}

/** A command or a group whose file is loaded when it is called, so that other commands start faster. */
interface Later {
  readonly name: string;
  /** Without a summary, the overview of the group loads the file. */
  readonly summary?: string;
  load(): Promise<Command | Group>;
}

/** Defines a command whose `run` knows the types of its options. */
export function defineCommand<const Given extends Options>(command: Command<Given>): Command {
  return command;
}

const HELP = { short: "h", about: "This text" } as const satisfies Option;

/** Returns whether help or JSON was requested, even if other arguments are wrong. */
export function asksFor(option: "help" | "json", args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const given = end < 0 ? args : args.slice(0, end);
  return given.includes(`--${option}`) || (option === "help" && given.includes("-h"));
}

/** Reads the arguments of a command. Throws `UsageError` for invalid arguments. */
export function parse(command: Command, args: readonly string[]): Pick<Call, "values" | "words"> {
  const options = optionsOf(command);
  const types = Object.entries(options).map(([name, { takes, short }]) => [
    name,
    { type: takes === undefined ? ("boolean" as const) : ("string" as const), ...(short !== undefined && { short }) },
  ]);
  // Strict mode is off, because its error messages come from Node and differ between versions.
  const { tokens } = parseArgs({
    args: args.map(marked),
    options: Object.fromEntries(types),
    strict: false,
    tokens: true,
  });
  const switches = Object.entries(options).filter(([, { takes }]) => takes === undefined);
  const values: Record<string, unknown> = Object.fromEntries(switches.map(([name, { isOn }]) => [name, isOn === true]));
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(unmarked(token.value));
    if (token.kind !== "option") continue;
    const { name, value, several } = readOption(command, token);
    values[name] = several ? [...((values[name] as readonly unknown[] | undefined) ?? []), value] : value;
  }
  checkWords(command, words);
  return { values, words };
}

function optionsOf({ options = {} }: Command): Options {
  return { ...options, help: HELP };
}

interface Token {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function readOption(command: Command, { name, rawName, value, inlineValue }: Token) {
  const options = optionsOf(command);
  const turnedOff = /^no-(.+)/.exec(name)?.[1] ?? "";
  if (Object.hasOwn(options, turnedOff) && options[turnedOff]?.isOn) return { name: turnedOff, value: false };
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (!option) {
    const names = Object.entries(options).map(([known, { isOn }]) => (isOn ? `no-${known}` : known));
    const near = nearestName(name, names);
    const keyHint = name === "key" && Object.hasOwn(options, "server") ? " Set SKEIN_API_KEY to the key." : "";
    const hint = near === undefined ? keyHint : ` Did you mean --${near}?`;
    throw new UsageError(`skein ${command.name} has no option ${rawName}.${hint}`);
  }
  if (option.takes === undefined) {
    if (value !== undefined) throw new UsageError(`--${name} takes no value.`);
    return { name, value: true };
  }
  if (value === undefined) throw new UsageError(`--${name} needs a value: --${name} ${option.takes}.`);
  if (inlineValue !== true && /^-./.test(value))
    throw new UsageError(
      `--${name} needs a value: --${name} ${option.takes}. Write a value that begins with a dash as --${name}=${value}.`,
    );
  const text = unmarked(value);
  const read = option.kind ? option.kind.read(text) : text;
  if (read === undefined) throw new UsageError(`--${name} takes ${option.kind?.what}, not "${text}".`);
  return { name, value: read, several: option.several };
}

/**
 * Marks an argument as text if it starts with a dash and contains a space. Examples are a list in a prompt, and a
 * comment in SQL.
 */
function marked(argument: string): string {
  return /^-[^\s=]*\s/.test(argument) ? `${MARK}${argument}` : argument;
}

/** A character that no process argument can contain. */
const MARK = "\0";

function unmarked(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text;
}

function checkWords({ words, forms }: Command, given: readonly string[]): void {
  // A command with several forms checks its words in `run`.
  if (forms) return;
  const names = words === undefined ? [] : words.split(" ");
  const least = names.filter((name) => !name.startsWith("[")).length;
  const most = names.some((name) => name.includes("…")) ? Number.POSITIVE_INFINITY : names.length;
  if (given.length >= least && given.length <= most) return;
  const got = given.length === 0 ? "nothing" : counted(given.length, "word");
  // A shell splits a value with spaces into words, so the error suggests quotes.
  const quotes = words?.includes('"') && given.length > 0 ? " Put it into quotes." : "";
  throw new UsageError(`Expected ${words ?? "no words"}, and got ${got}.${quotes}`);
}
