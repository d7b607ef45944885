/** What a command says about itself. */
export interface CommandHelp {
  /** After `skein`: `sessions show`. */
  readonly name: string;
  /** The words that follow it. */
  readonly words: string;
  readonly summary: string;
  /** Name, argument if it takes one, and what it is for. */
  readonly options: readonly (readonly [name: string, argument: string | null, text: string])[];
  readonly examples: readonly string[];
}

/** The text of `skein COMMAND --help`. */
export function helpOf({ name: command, words, summary, options, examples }: CommandHelp): string {
  const names = options.map(([name, argument]) => `--${name}${argument === null ? "" : ` ${argument}`}`);
  const width = Math.max(6, ...names.map(({ length }) => length));
  const lines = options.map(([, , text], at) => `  ${(names[at] ?? "").padEnd(width)}  ${text}`);
  return `${summary}\n\nUsage: skein ${command}${words === "" ? "" : ` ${words}`} [options]\n\nOptions:\n${[...lines, `  ${"--help".padEnd(width)}  This text`].join("\n")}\n\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}\n`;
}
