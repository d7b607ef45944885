import { createTally, type PricedCall } from "./tally.ts";
import type { UsageBlock } from "./usage-report.ts";

const hour = 3_600_000;
const blockLength = 5 * hour;

/**
 * Five-hour blocks as people use them to guess their limits: a block starts at the full hour of its first call; a call
 * more than five hours after the start or after the last call opens the next one, with a gap between if nothing
 * happened. An estimate by nature.
 */
export function toBlocks(calls: readonly PricedCall[]): readonly UsageBlock[] {
  const sorted = calls.toSorted((a, b) => a.time - b.time);
  const blocks: UsageBlock[] = [];
  let open: PricedCall[] = [];
  let start = 0;
  let last = 0;
  const close = (): void => {
    if (open.length === 0) return;
    const tally = createTally();
    for (const call of open) tally.add(call);
    blocks.push(block(start, start + blockLength, tally.totals(), new Date(last)));
    open = [];
  };
  for (const call of sorted) {
    if (open.length > 0 && (call.time - start > blockLength || call.time - last > blockLength)) {
      close();
      if (call.time - last > blockLength) {
        blocks.push(block(last + blockLength, call.time, createTally().totals(), null));
      }
    }
    if (open.length === 0) start = Math.floor(call.time / hour) * hour;
    open.push(call);
    last = call.time;
  }
  close();
  return blocks;
}

function block(
  start: number,
  end: number,
  totals: ReturnType<ReturnType<typeof createTally>["totals"]>,
  last: Date | null,
): UsageBlock {
  return {
    isEstimate: true,
    isGap: last === null,
    startsAt: new Date(start),
    endsAt: new Date(end),
    lastActivityAt: last,
    ...totals,
  };
}
