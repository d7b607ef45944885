import { diffLines } from "diff";
import { shownLine, shownLines, visible } from "./safe-text.ts";

/** One line of a difference. */
export interface DifferenceLine {
  readonly sign: " " | "+" | "-";
  readonly text: string;
  readonly number: number | null;
  /** The new text of a removed line, or the old text of an added line. Used to mark changed words. */
  pair?: string;
}

/** If two texts have more characters in total, they are not compared. All lines of the new text are shown as added. */
const MOST = 300_000;

/** Compares two texts line by line. */
export function differenceLines(before: string, after: string): readonly DifferenceLine[] {
  if (before.length + after.length > MOST) return whole(after, "+");
  const lines: DifferenceLine[] = [];
  let [oldAt, newAt] = [1, 1];
  for (const part of diffLines(visible(before), visible(after))) {
    const sign = part.added ? "+" : part.removed ? "-" : " ";
    for (const text of part.value.replace(/\n$/, "").split("\n")) {
      lines.push({ sign, text: shownLine(text), number: sign === "-" ? oldAt : newAt });
      if (sign !== "+") oldAt += 1;
      if (sign !== "-") newAt += 1;
    }
  }
  return paired(before === "" ? lines.filter(({ sign }) => sign === "+") : lines);
}

/**
 * Returns the lines of a difference in the unified format, without the names of the files. The line numbers jump
 * between two parts of the difference.
 */
export function unifiedLines(diff: string): readonly DifferenceLine[] {
  const lines: DifferenceLine[] = [];
  let [oldAt, newAt] = [1, 1];
  for (const text of visible(diff).replace(/\n$/, "").split("\n")) {
    const [, before, after] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(text) ?? [];
    const sign = text[0];
    if (before !== undefined && after !== undefined) [oldAt, newAt] = [Number(before), Number(after)];
    else if (/^(?:---|\+\+\+) /.test(text) && lines.length === 0) continue;
    else if (sign === "+" || sign === "-" || sign === " ") {
      lines.push({ sign, text: shownLine(text.slice(1)), number: sign === "-" ? oldAt : newAt });
      if (sign !== "+") oldAt += 1;
      if (sign !== "-") newAt += 1;
    }
  }
  return paired(lines);
}

function whole(text: string, sign: "+" | "-"): readonly DifferenceLine[] {
  return shownLines(text).map((line, at) => ({ sign, text: visible(line), number: at + 1 }));
}

/**
 * Pairs removed lines with the added lines that replace them, if the numbers of removed and of added lines are equal.
 */
function paired(lines: DifferenceLine[]): readonly DifferenceLine[] {
  for (let at = 0; at < lines.length;) {
    const removed = run(lines, at, "-");
    const added = run(lines, at + removed, "+");
    if (removed > 0 && removed === added)
      for (let line = 0; line < removed; line++) {
        const [one, other] = [lines[at + line], lines[at + removed + line]];
        if (!one || !other || !isAlike(one.text, other.text)) continue;
        one.pair = other.text;
        other.pair = one.text;
      }
    at += Math.max(1, removed + added);
  }
  return lines;
}

function run(lines: readonly DifferenceLine[], from: number, sign: DifferenceLine["sign"]): number {
  let at = from;
  while (lines[at]?.sign === sign) at += 1;
  return at - from;
}

/** Whether two lines share at least half of their words. Only such lines are paired. */
function isAlike(one: string, other: string): boolean {
  const words = new Set(one.split(/\W+/).filter((word) => word !== ""));
  const others = other.split(/\W+/).filter((word) => word !== "");
  const shared = others.filter((word) => words.has(word)).length;
  return shared * 2 >= Math.max(words.size, others.length);
}
