/** The usage report. All costs come from the price table, not from Claude Code's own totals. */
import type { SourceName } from "../sources/port/source.ts";

export interface UsageTotals {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheCreationInputTokens: number;
  /** The part of the cache writes that is cached for an hour and costs twice the input price. */
  readonly cacheCreation1hInputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly webSearchRequests: number;
  /** Model calls, each counted once. */
  readonly calls: number;
  /** The cost of all calls whose model has a price. */
  readonly costUsd: number;
  readonly costMicros: number;
  /** Calls whose model has no price. They are not part of the cost. */
  readonly unpricedCalls: number;
}

/** The usage of one model in a day, a week or a month. */
interface PartUsage extends UsageTotals {
  readonly model: string;
}

interface DayUsage extends UsageTotals {
  readonly date: string;
  /** The most expensive model first. */
  readonly models: readonly PartUsage[];
}

interface WeekUsage extends UsageTotals {
  readonly models: readonly PartUsage[];
  /** The Monday on which the week begins. */
  readonly week: string;
}

interface MonthUsage extends UsageTotals {
  readonly models: readonly PartUsage[];
  readonly month: string;
}

interface ModelUsage extends UsageTotals {
  readonly model: string;
  readonly isPriced: boolean;
}

interface ProjectUsage extends UsageTotals {
  readonly projectPath: string;
}

interface SourceUsage extends UsageTotals {
  /** The agent: `claude-code`, `codex`, … */
  readonly source: SourceName;
}

export interface SessionUsage extends UsageTotals {
  readonly sessionId: string;
  readonly source: SourceName;
  readonly projectPath: string;
  readonly firstActivityAt: Date;
  readonly lastActivityAt: Date;
  /** The models of its calls, in the order of their first call. */
  readonly models: readonly string[];
  /**
   * The session's cost as last recorded by Claude Code, for comparison. It includes calls that no transcript contains
   * (titles, searches). Sessions before August 2026 or without a terminal have none.
   */
  readonly costStateUsd: number | null;
}

/** Five hours of activity. An estimate: the real limits are not in the files. */
export interface UsageBlock extends UsageTotals {
  readonly isEstimate: true;
  readonly isGap: boolean;
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly firstActivityAt: Date | null;
  readonly lastActivityAt: Date | null;
}

export interface BurnRate {
  /** Input, output and cache tokens. */
  readonly tokensPerMinute: number;
  readonly costUsdPerHour: number;
}

/** The current block, and its projected end. */
export interface BlockForecast {
  readonly block: UsageBlock;
  readonly remainingMinutes: number;
  /** Null if all calls of the block were at one moment. */
  readonly burnRate: BurnRate | null;
  readonly projection: { readonly totalTokens: number; readonly costUsd: number } | null;
}

export interface UsageReport {
  readonly totals: UsageTotals;
  readonly byDay: readonly DayUsage[];
  readonly byWeek: readonly WeekUsage[];
  readonly byMonth: readonly MonthUsage[];
  readonly byModel: readonly ModelUsage[];
  readonly byProject: readonly ProjectUsage[];
  readonly bySource: readonly SourceUsage[];
  readonly bySession: readonly SessionUsage[];
  readonly blocks: readonly UsageBlock[];
  /** Null if the last block is over. */
  readonly activeBlock: BlockForecast | null;
  readonly unpricedModels: readonly string[];
  readonly pricesVersion: string;
  /** The time zone whose days are used. */
  readonly timeZone: string;
  /** Files that could not be read. Their calls are missing in the totals. */
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[];
}
