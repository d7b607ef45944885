import Anser from "anser";
import { visible } from "./safe-text.ts";

/** A piece of terminal output in one colour. */
export interface TerminalPiece {
  readonly text: string;
  readonly className: string;
}

/**
 * Sequences that do more than colour: titles, links, the clipboard, device strings. They match even if their end is
 * missing.
 */
// oxlint-disable-next-line no-control-regex
const STRINGS = /(?:\u001B[\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0007\u001B\u009C]*(?:\u0007|\u001B\\|\u009C|$)/g;
/** Every control sequence; those that colour end in `m`. */
// oxlint-disable-next-line no-control-regex
const SEQUENCE = /(?:\u001B\[|\u009B)([0-9;:?<=>!"'$ ]*)([@-~])/g;

/**
 * Terminal output as coloured pieces. Only colours and weights are kept; sequences that move the cursor, clear the screen,
 * or set a title, link or clipboard are removed. A line that was overwritten is shown as a terminal would show it in the
 * end.
 */
export function terminalPieces(output: string): readonly TerminalPiece[] {
  const colours = output
    .replace(STRINGS, "")
    .replace(SEQUENCE, (_, parameters: string, final: string) =>
      final === "m" && /^[0-9;]*$/.test(parameters) ? `\u001B[${parameters}m` : "",
    );
  const shown = colours
    .split("\n")
    .map((line) => overwritten(line.replace(/\r$/, "")))
    .join("\n");
  return Anser.ansiToJson(shown, { use_classes: true, remove_empty: true, json: true }).map((piece) => ({
    text: visible(piece.content),
    className: classOf(piece),
  }));
}

/** The visible text of a line with carriage returns. */
function overwritten(line: string): string {
  return line.includes("\r") ? (line.split("\r").findLast((part) => part !== "") ?? "") : line;
}

const COLOURS: Readonly<Record<string, string>> = {
  "ansi-red": "red",
  "ansi-green": "green",
  "ansi-yellow": "yellow",
  "ansi-blue": "blue",
  "ansi-magenta": "magenta",
  "ansi-cyan": "cyan",
  "ansi-black": "dim",
};

function classOf({ fg, decorations }: { fg: string | null; decorations: readonly string[] }): string {
  const colour = COLOURS[(fg ?? "").replace("bright-", "")] ?? "";
  const weights = decorations.map((one) => (one === "bold" ? "bold" : one === "dim" ? "dim" : ""));
  return [colour, ...weights].filter((one) => one !== "").join(" ");
}
