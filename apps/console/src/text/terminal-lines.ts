import Anser from "anser";
import { visible } from "./safe-text.ts";

/** A piece of terminal output in one colour. */
export interface TerminalPiece {
  readonly text: string;
  readonly className: string;
}

/**
 * Control sequences that contain a text, such as a title, a link or the clipboard. The pattern also matches a sequence
 * whose end is missing.
 */
// oxlint-disable-next-line no-control-regex
const STRINGS = /(?:\u001B[\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0007\u001B\u009C]*(?:\u0007|\u001B\\|\u009C|$)/g;
/** Control sequences without a text. A sequence that sets a colour ends in `m`. */
// oxlint-disable-next-line no-control-regex
const SEQUENCE = /(?:\u001B\[|\u009B)([0-9;:?<=>!"'$ ]*)([@-~])/g;

/**
 * Converts terminal output to coloured pieces. Only colours and bold type are kept. Sequences that move the cursor,
 * clear the screen, or set a title, link or clipboard are removed. If a program overwrote a line, only the last version
 * is shown.
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
