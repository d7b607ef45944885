import type { LibraryConfig } from "@skein/history";
import { parseArgs, type ParseArgsOptionDescriptor } from "node:util";
import type { Config } from "../../config.ts";
import { UsageError } from "./exit.ts";
import { commonConfig, commonOptions, type CommonValues } from "./options.ts";
import type { Screen } from "./screen.ts";

type OptionTable = Readonly<
  Record<string, ParseArgsOptionDescriptor & { readonly hint?: string; readonly about: string }>
>;

type ValueOf<Option> = Option extends { multiple: true }
  ? readonly string[] | undefined
  : Option extends { type: "boolean" }
    ? boolean | undefined
    : string | undefined;

/** One command of `skein history`. */
export interface HistoryCommand {
  readonly summary: string;
  /** What stands behind the name: `<session>`. */
  readonly takes: string;
  readonly options: OptionTable;
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  readonly usesPager: boolean;
  run(call: Call<Record<string, never>>): Promise<number>;
}

export interface Call<Values> {
  readonly screen: Screen;
  readonly values: Values & CommonValues;
  readonly words: readonly string[];
  /** What the library takes: roots, project, times, page. */
  readonly library: LibraryConfig;
  readonly config: Config;
  readonly signal: AbortSignal;
}

export function defineCommand<const Options extends OptionTable>(command: {
  readonly summary: string;
  readonly takes?: string;
  readonly options?: Options;
  readonly examples: HistoryCommand["examples"];
  readonly usesPager?: boolean;
  run(call: Call<{ readonly [Name in keyof Options]: ValueOf<Options[Name]> }>): Promise<number>;
}): HistoryCommand {
  return { takes: "", options: {}, usesPager: false, ...command } as unknown as HistoryCommand;
}

export interface ParsedCall {
  readonly values: Record<string, unknown> & CommonValues;
  readonly words: readonly string[];
}

export function parseCall(command: HistoryCommand, args: readonly string[]): ParsedCall {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...commonOptions, ...command.options },
      allowPositionals: true,
      allowNegative: true,
    });
    return { values, words: positionals };
  } catch (error) {
    throw new UsageError(
      error instanceof Error ? (error.message.split(/\n|\. To specify/, 1)[0] ?? "") : String(error),
    );
  }
}

export function libraryConfig(values: CommonValues, signal: AbortSignal): LibraryConfig {
  return { ...commonConfig(values), signal };
}

export function helpOf(name: string, command: HistoryCommand): string {
  const own = Object.entries(command.options);
  const shared = Object.entries(commonOptions);
  const lines = (options: readonly (readonly [string, OptionTable[string]])[]): string[] => {
    const names = options.map(([long, { short, hint }]) => {
      return `${short === undefined ? "" : `-${short}, `}--${long}${hint === undefined ? "" : ` ${hint}`}`;
    });
    const width = Math.max(0, ...names.map(({ length }) => length));
    return options.map(([, { about }], at) => `  ${(names[at] ?? "").padEnd(width)}  ${about}`);
  };
  const width = Math.max(...command.examples.map(([line]) => line.length));
  return [
    `skein history ${name}: ${command.summary}`,
    "",
    `Usage: skein history ${[name, command.takes, "[options]"].filter((part) => part !== "").join(" ")}`,
    ...(own.length === 0 ? [] : ["", "Options:", ...lines(own)]),
    "",
    "Options of every history command:",
    ...lines(shared),
    "",
    "Examples:",
    ...command.examples.map(([line, meaning]) => `  ${line.padEnd(width)}  ${meaning}`),
    "",
    "Exit codes: 0 done, 1 done in part, 2 called wrongly, 3 not found, 4 reading or writing failed",
    "",
  ].join("\n");
}
