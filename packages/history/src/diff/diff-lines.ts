import { diffArrays } from "diff/lib/diff/array.js";

/** One line of a difference between two texts, as `diff -u` shows it without its header. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** If more lines differ, all lines are shown as replaced, because a comparison would take seconds. */
const maxEdits = 3000;

/** Compares two texts. Returns as few removed and added lines as possible. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [splitLines(before), splitLines(after)];
  const changes = diffArrays(a, b, { maxEditLength: maxEdits });
  if (!changes) return [...a.map((text) => line("removed", text)), ...b.map((text) => line("added", text))];
  return changes.flatMap(({ removed, added, value }) => {
    const kind = removed ? "removed" : added ? "added" : "same";
    return value.map((text) => line(kind, text));
  });
}

function splitLines(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function line(kind: DiffLine["kind"], text: string): DiffLine {
  return { kind, text };
}
