/** A difference between two texts, line by line, in the form of `diff -u` without its header. */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

const mostEdits = 3000;

/** The shortest way from one text to the other (Myers). Texts that have nearly nothing in common are replaced as a whole. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const a = splitLines(before);
  const b = splitLines(after);
  const trace = walk(a, b);
  if (!trace) return [...a.map((text) => line("removed", text)), ...b.map((text) => line("added", text))];
  return backtrack(a, b, trace);
}

function splitLines(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

type Furthest = ReadonlyMap<number, number>;

function walk(a: readonly string[], b: readonly string[]): readonly Furthest[] | undefined {
  const trace: Furthest[] = [];
  let furthest = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(a.length + b.length, mostEdits); edits += 1) {
    trace.push(new Map(furthest));
    const next = new Map(furthest);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const down = furthest.get(diagonal + 1) ?? -1;
      const right = furthest.get(diagonal - 1) ?? -1;
      let x = diagonal === -edits || (diagonal !== edits && right < down) ? down : right + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
      next.set(diagonal, x);
      if (x >= a.length && x - diagonal >= b.length) return trace;
    }
    furthest = next;
  }
  return undefined;
}

function backtrack(a: readonly string[], b: readonly string[], trace: readonly Furthest[]): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let x = a.length;
  let y = b.length;
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const furthest = trace[edits] ?? new Map<number, number>();
    const diagonal = x - y;
    const down = furthest.get(diagonal + 1) ?? -1;
    const right = furthest.get(diagonal - 1) ?? -1;
    const isDown = diagonal === -edits || (diagonal !== edits && right < down);
    const fromX = isDown ? down : right;
    const fromY = fromX - (isDown ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY && x > 0 && y > 0 && a[x - 1] === b[y - 1]) {
      lines.push(line("same", a[x - 1] ?? ""));
      x -= 1;
      y -= 1;
    }
    if (edits === 0) break;
    if (isDown) lines.push(line("added", b[y - 1] ?? ""));
    else lines.push(line("removed", a[x - 1] ?? ""));
    x = Math.max(0, fromX);
    y = Math.max(0, fromY);
  }
  return lines.toReversed();
}

function line(kind: DiffLine["kind"], text: string): DiffLine {
  return { kind, text };
}
