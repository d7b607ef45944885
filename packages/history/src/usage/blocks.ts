import { createTally, newPricedCall, type PricedCall, type ReusedCall } from "./tally.ts";
import type { UsageBlock } from "./usage-report.ts";

const hour = 3_600_000;
const blockLength = 5 * hour;

/** Stores calls in little memory and returns them in the order of time. */
export interface CallLog {
  add(call: PricedCall): void;
  /** The calls one by one, in the same object. */
  inOrder(): Iterable<PricedCall>;
}

const fields = 9;

export function createCallLog(): CallLog {
  let numbers = new Float64Array(fields * 1024);
  let count = 0;
  return {
    add(call) {
      if ((count + 1) * fields > numbers.length) {
        const larger = new Float64Array(numbers.length * 2);
        larger.set(numbers);
        numbers = larger;
      }
      const at = count * fields;
      numbers[at] = call.time;
      numbers[at + 1] = call.inputTokens;
      numbers[at + 2] = call.outputTokens;
      numbers[at + 3] = call.cacheCreationInputTokens;
      numbers[at + 4] = call.cacheCreation1hInputTokens;
      numbers[at + 5] = call.cacheReadInputTokens;
      numbers[at + 6] = call.webSearchRequests;
      numbers[at + 7] = call.calls;
      numbers[at + 8] = call.costPicos ?? Number.NaN;
      count += 1;
    },
    *inOrder() {
      const order = new Uint32Array(count);
      for (let row = 0; row < count; row += 1) order[row] = row;
      order.sort((a, b) => (numbers[a * fields] ?? 0) - (numbers[b * fields] ?? 0));
      const call = newPricedCall();
      for (const row of order) yield fill(call, numbers, row * fields);
    },
  };
}

function fill(call: ReusedCall, numbers: Float64Array, at: number): PricedCall {
  const costPicos = numbers[at + 8] ?? Number.NaN;
  call.time = numbers[at] ?? 0;
  call.inputTokens = numbers[at + 1] ?? 0;
  call.outputTokens = numbers[at + 2] ?? 0;
  call.cacheCreationInputTokens = numbers[at + 3] ?? 0;
  call.cacheCreation1hInputTokens = numbers[at + 4] ?? 0;
  call.cacheReadInputTokens = numbers[at + 5] ?? 0;
  call.webSearchRequests = numbers[at + 6] ?? 0;
  call.calls = numbers[at + 7] ?? 0;
  call.costPicos = Number.isNaN(costPicos) ? undefined : costPicos;
  return call;
}

/**
 * Five-hour blocks, which people use to estimate their limits. A block starts at the full hour of its first call. A call
 * more than five hours after the start or after the last call starts the next block, with a gap in between if there were
 * no calls. The real limits are not in the files, so blocks are an estimate.
 */
export function toBlocks(calls: Iterable<PricedCall>): readonly UsageBlock[] {
  const blocks: UsageBlock[] = [];
  let open = createTally();
  let isOpen = false;
  let start = 0;
  let first = 0;
  let last = 0;
  const close = (): void => {
    if (isOpen) blocks.push(block(start, start + blockLength, open.totals(), [new Date(first), new Date(last)]));
    isOpen = false;
  };
  for (const call of calls) {
    if (isOpen && (call.time - start > blockLength || call.time - last > blockLength)) {
      close();
      if (call.time - last > blockLength) {
        blocks.push(block(last + blockLength, call.time, createTally().totals(), null));
      }
    }
    if (!isOpen) {
      start = Math.floor(call.time / hour) * hour;
      first = call.time;
      open = createTally();
      isOpen = true;
    }
    open.add(call);
    last = call.time;
  }
  close();
  return blocks;
}

function block(
  start: number,
  end: number,
  totals: ReturnType<ReturnType<typeof createTally>["totals"]>,
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
