import type { Command, Group, Option } from "./command.ts";
import { EXIT, EXIT_MEANINGS } from "./exit-codes.ts";

/** Returns the text of `skein COMMAND --help` for a terminal with `columns` columns. */
export function helpOf(command: Command, columns: number): string {
  const { name, summary, words = "", forms = [[words, ""]], options = {}, examples, notes } = command;
  const calls = forms.map(([form, about]) => [
    ["skein", name, form, "[options]"].filter((part) => part !== "").join(" "),
    about,
  ]);
  const named = Object.entries<Option>(options).map(([option, rest]) => [signature(option, rest), rest.about]);
  return sections(columns, [
    summary,
    ["Usage:", calls],
    ["Options:", [...named, ["-h, --help", "This text"]]],
    ["Examples:", examples.map((example) => (typeof example === "string" ? [example, ""] : example))],
    ...(notes === undefined ? [] : [notes]),
    EXIT_CODES,
  ]);
}

const EXIT_CODES = `Exit codes: ${(Object.keys(EXIT) as (keyof typeof EXIT)[])
  .map((name) => `${EXIT[name]} ${EXIT_MEANINGS[name]}`)
  .join(", ")}`;

/** Returns the text of `skein GROUP --help`. */
export function overviewOf(
  { name, summary, examples = [], notes }: Group,
  commands: readonly (readonly [string, string])[],
  columns: number,
): string {
  const whole = ["skein", ...(name === "" ? [] : [name])].join(" ");
  return sections(columns, [
    `${whole}: ${summary}`,
    ["Usage:", [[`${whole} <command> [options]`, ""]]],
    ["Commands:", commands],
    ...(examples.length === 0 ? [] : [["Examples:", examples] as const]),
    [notes, `"${whole} <command> --help" shows the options and examples of a command.`].filter(Boolean).join(" "),
    EXIT_CODES,
  ]);
}

function signature(name: string, { takes, short, isOn }: Option): string {
  const value = takes === undefined ? "" : ` ${takes}`;
  return `${short === undefined ? "" : `-${short}, `}--${isOn ? "no-" : ""}${name}${value}`;
}

type Rows = readonly (readonly string[])[];
type Section = string | readonly [title: string, rows: Rows];

function sections(columns: number, parts: readonly Section[]): string {
  return parts
    .map((part) => {
      if (typeof part === "string") return wrapped(part, columns).join("\n");
      const [title, rows] = part;
      const lines = explained(rows, columns);
      // If a command can be called in only one way, this way is shown on the same line as the title.
      return title === "Usage:" && lines.length === 1
        ? `${title} ${lines[0]?.trim()}`
        : `${title}\n${lines.join("\n")}`;
    })
    .map((text) => `${text}\n`)
    .join("\n");
}

/** The smallest width of the second column. On a narrower terminal, explanations are put below the names. */
const LEAST = 24;

/** Puts each explanation beside its name. If the terminal is too narrow, puts the explanation below the name. */
export function explained(rows: Rows, columns: number): readonly string[] {
  const width = Math.max(...rows.map(([name = ""]) => name.length));
  const room = columns - width - 4;
  return rows.flatMap(([name = "", about = ""]) => {
    if (about === "") return [`  ${name}`];
    if (room < LEAST) return [`  ${name}`, ...wrapped(about, columns - 6).map((line) => `      ${line}`)];
    const [first = "", ...rest] = wrapped(about, room);
    return [`  ${name.padEnd(width)}  ${first}`, ...rest.map((line) => " ".repeat(width + 4) + line)];
  });
}

/** Breaks a text at spaces into lines of at most `columns` characters. Only a longer word exceeds this width. */
export function wrapped(text: string, columns: number): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const lines: string[] = [];
    let current = "";
    for (const word of line.split(" ")) {
      if (current !== "" && current.length + 1 + word.length > columns) {
        lines.push(current);
        current = word;
      } else current = current === "" ? word : `${current} ${word}`;
    }
    return [...lines, current];
  });
}
