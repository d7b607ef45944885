import type { CallRun } from "./call-runs.ts";
import { addTally, newTally, totalsOf, type Tally } from "./tally.ts";
import type { UsageBlock, UsageTotals } from "./usage-report.ts";

const hour = 3_600_000;
const blockLength = 5 * hour;

/** The calls of an hour. A call at the end of the hour belongs to it, and a call at its beginning does not. */
interface Hour {
  first: number;
  last: number;
  readonly tally: Tally;
}

/**
 * Counts usage in five-hour blocks, with which people estimate their limits. A block starts at the full hour before its
 * first call. The next block starts with a call that is more than five hours after the start of the block or after the
 * previous call. If more than five hours pass without a call, a gap comes between the blocks. The real limits are not
 * in the files, so blocks are an estimate.
 */
export interface BlockCounter {
  add(run: CallRun): void;
  blocks(): readonly UsageBlock[];
}

/** Returns the number of the hour to which a call belongs. */
export const hourOf = (time: number): number => Math.ceil(time / hour);

/**
 * Creates a counter, which takes calls in any order. It adds calls by the hour, because a block begins and ends at a
 * full hour.
 */
export function createBlockCounter(): BlockCounter {
  const hours = new Map<number, Hour>();
  return {
    add({ hour: key, first, last, tally }) {
      let known = hours.get(key);
      if (!known) hours.set(key, (known = { first, last, tally: newTally() }));
      if (first < known.first) known.first = first;
      if (last > known.last) known.last = last;
      addTally(known.tally, tally);
    },
    blocks: () => toBlocks([...hours.values()].sort((a, b) => a.first - b.first)),
  };
}

function toBlocks(hours: readonly Hour[]): readonly UsageBlock[] {
  const blocks: UsageBlock[] = [];
  let open = newTally();
  let isOpen = false;
  let start = 0;
  let begin = 0;
  let end = 0;
  const close = (): void => {
    if (isOpen) blocks.push(block(start, start + blockLength, totalsOf(open), [new Date(begin), new Date(end)]));
    isOpen = false;
  };
  for (const { first, last, tally } of hours) {
    if (isOpen && (first - start > blockLength || first - end > blockLength)) {
      close();
      if (first - end > blockLength) blocks.push(block(end + blockLength, first, totalsOf(newTally()), null));
    }
    if (!isOpen) {
      start = Math.floor(first / hour) * hour;
      begin = first;
      open = newTally();
      isOpen = true;
    }
    addTally(open, tally);
    end = last;
  }
  close();
  return blocks;
}

function block(
  start: number,
  end: number,
  totals: UsageTotals,
  activity: readonly [first: Date, last: Date] | null,
): UsageBlock {
  return {
    isEstimate: true,
    isGap: activity === null,
    startsAt: new Date(start),
    endsAt: new Date(end),
    firstActivityAt: activity?.[0] ?? null,
    lastActivityAt: activity?.[1] ?? null,
    ...totals,
  };
}
