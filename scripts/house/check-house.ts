/** Checks the layout rules of a tree, except for known findings. */
import { HOUSE_RULES, type HouseRule } from "./house-rules.ts";
import type { SourceTree } from "./source-tree.ts";

/** The number of known findings of each rule. It may only decrease. */
export type StillOpen = Partial<Record<HouseRule, number>>;

export interface Checked {
  /** One line for each problem: its place, a description, and where the code belongs. */
  readonly failures: readonly string[];
  /** Numbers in still-open.json that can be made smaller. */
  readonly mended: readonly string[];
}

export function checkHouse(tree: SourceTree, open: StillOpen = {}): Checked {
  const failures: string[] = [];
  const mended: string[] = [];
  for (const rule of Object.keys(HOUSE_RULES) as HouseRule[]) {
    const findings = HOUSE_RULES[rule](tree);
    const known = open[rule] ?? 0;
    if (findings.length < known)
      mended.push(
        `scripts/house/still-open.json: "${rule}" is ${known}, but only ${findings.length} are left. Set it to ${findings.length}.`,
      );
    if (findings.length <= known) continue;
    if (known > 0) failures.push(`${rule}: ${findings.length} found, ${known} known. At least one of these is new:`);
    failures.push(...findings.map(({ file, line, sentence }) => `${file}:${line} ${sentence}`));
  }
  return { failures, mended };
}
