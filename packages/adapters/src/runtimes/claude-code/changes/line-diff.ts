/** The difference between two texts, in lines. */
export interface LineDiff {
  readonly insertions: number;
  readonly deletions: number;
  /** The difference in the unified format, without file names. Empty if the texts are the same. */
  readonly text: string;
}

interface Line {
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

const CONTEXT = 3;
/**
 * The largest number of edits in a difference. Texts with more edits are shown as replaced, because the difference
 * would take long and would not be useful.
 */
const MOST_EDITS = 2000;

export function lineDiff(before: string, after: string): LineDiff {
  const lines = compare(linesOf(before), linesOf(after));
  const count = (sign: Line["sign"]): number => lines.filter((line) => line.sign === sign).length;
  return { insertions: count("+"), deletions: count("-"), text: hunks(lines).join("") };
}

/**
 * Splits a text into lines. Marks a last line without a line break as `diff` does, because it differs from the line
 * with a line break.
 */
function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") return lines.slice(0, -1);
  return [...lines.slice(0, -1), `${lines.at(-1)}\n\\ No newline at end of file`];
}

function compare(before: readonly string[], after: readonly string[]): readonly Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end += 1;
  const same = (text: string): Line => ({ sign: " ", text });
  return [
    ...before.slice(0, start).map(same),
    ...shortestEdit(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

/** Finds the shortest edit with Myers' greedy algorithm. A round has one more edit than the round before. */
function shortestEdit(before: readonly string[], after: readonly string[]): readonly Line[] {
  const most = Math.min(before.length + after.length, MOST_EDITS);
  const rounds: Map<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  for (let edits = 0; edits <= most; edits += 1) {
    const next = new Map(reached);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = stepsDown(reached, diagonal, edits) ? at(reached, diagonal + 1) : at(reached, diagonal - 1) + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
      next.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return wayBack([...rounds, reached], before, after);
    }
    rounds.push(reached);
    reached = next;
  }
  return [...before.map((text): Line => ({ sign: "-", text })), ...after.map((text): Line => ({ sign: "+", text }))];
}

function at(reached: ReadonlyMap<number, number>, diagonal: number): number {
  return reached.get(diagonal) ?? -1;
}

/** Returns true if the furthest path to a diagonal ends with an insertion. */
function stepsDown(reached: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  return diagonal === -edits || (diagonal !== edits && at(reached, diagonal - 1) < at(reached, diagonal + 1));
}

function wayBack(
  rounds: readonly ReadonlyMap<number, number>[],
  before: readonly string[],
  after: readonly string[],
): readonly Line[] {
  const lines: Line[] = [];
  let [x, y] = [before.length, after.length];
  for (let edits = rounds.length - 1; edits >= 0; edits -= 1) {
    const reached = rounds[edits] ?? new Map<number, number>();
    const diagonal = x - y;
    const isDown = stepsDown(reached, diagonal, edits);
    const fromX = at(reached, isDown ? diagonal + 1 : diagonal - 1);
    const fromY = fromX - (isDown ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      lines.push({ sign: " ", text: before[x - 1] ?? "" });
      x -= 1;
      y -= 1;
    }
    if (edits === 0) break;
    lines.push(isDown ? { sign: "+", text: after[y - 1] ?? "" } : { sign: "-", text: before[x - 1] ?? "" });
    [x, y] = [fromX, fromY];
  }
  return lines.toReversed();
}

/** Returns groups of changed lines with some context. A group has its position in both texts. */
function hunks(lines: readonly Line[]): readonly string[] {
  const found: string[] = [];
  const isNear = (index: number): boolean =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== " ");
  let [old, now] = [1, 1];
  for (let index = 0; index < lines.length;) {
    const hunk: Line[] = [];
    const [oldStart, newStart] = [old, now];
    for (; index < lines.length && isNear(index); index += 1) {
      const line = lines[index] as Line;
      hunk.push(line);
      if (line.sign !== "+") old += 1;
      if (line.sign !== "-") now += 1;
    }
    if (hunk.length > 0) {
      const [oldLines, newLines] = [old - oldStart, now - newStart];
      const place = (start: number, count: number): string => `${count === 0 ? start - 1 : start},${count}`;
      const head = `@@ -${place(oldStart, oldLines)} +${place(newStart, newLines)} @@\n`;
      found.push(head + hunk.map(({ sign, text }) => `${sign}${text}\n`).join(""));
    }
    if (index < lines.length && !isNear(index)) {
      index += 1;
      old += 1;
      now += 1;
    }
  }
  return found;
}
