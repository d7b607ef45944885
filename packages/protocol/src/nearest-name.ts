/**
 * Returns the most similar known name, if at most two letters differ. For words of up to three letters, only one letter
 * may differ.
 */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  const most = word.length < 4 ? 1 : 2;
  const near = names.map((name) => ({ name, steps: steps(word, name) })).filter((one) => one.steps <= most);
  return near.toSorted((a, b) => a.steps - b.steps)[0]?.name;
}

/**
 * Returns how many letters must be changed, removed, added or swapped with a neighbour to get the second word from the
 * first.
 */
function steps(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, at) => at)];
  const cell = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row.push(
        Math.min(
          cell(i - 1, j) + 1,
          cell(i, j - 1) + 1,
          cell(i - 1, j - 1) + (isSame ? 0 : 1),
          isSwapped ? cell(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return cell(from.length, to.length);
}
