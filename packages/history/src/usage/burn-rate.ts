/** Estimates the burn rate of a five-hour block, and its total at the end. The real limits are not in the files. */
import type { BlockForecast, BurnRate, UsageBlock } from "./usage-report.ts";

const minute = 60_000;

/** Returns the forecast of the block at this moment, or null if no block is open. */
export function forecastOf(blocks: readonly UsageBlock[], now: Date): BlockForecast | null {
  const block = blocks.at(-1);
  if (!block || block.isGap || now >= block.endsAt || now < block.startsAt) return null;
  const burnRate = burnRateOf(block);
  const remainingMinutes = Math.round((block.endsAt.getTime() - now.getTime()) / minute);
  return {
    block,
    remainingMinutes,
    burnRate,
    projection: burnRate && {
      totalTokens: Math.round(tokensOf(block) + burnRate.tokensPerMinute * remainingMinutes),
      costUsd: block.costUsd + (burnRate.costUsdPerHour / 60) * remainingMinutes,
    },
  };
}

/** Returns the burn rate between the first and the last call of the block, or null if all calls have the same time. */
export function burnRateOf(block: UsageBlock): BurnRate | null {
  if (block.firstActivityAt === null || block.lastActivityAt === null) return null;
  const minutes = (block.lastActivityAt.getTime() - block.firstActivityAt.getTime()) / minute;
  if (minutes <= 0) return null;
  return { tokensPerMinute: tokensOf(block) / minutes, costUsdPerHour: (block.costUsd / minutes) * 60 };
}

function tokensOf(block: UsageBlock): number {
  return block.inputTokens + block.outputTokens + block.cacheCreationInputTokens + block.cacheReadInputTokens;
}
