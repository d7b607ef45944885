/** The usage report. All costs are computed from the price table. Totals that Claude Code recorded are not used. */
import type { SourceName } from "../sources/port/source.ts";

export interface UsageTotals {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheCreationInputTokens: number;
  /** The tokens written to the cache for an hour, which cost twice the input price. */
  readonly cacheCreation1hInputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly webSearchRequests: number;
  /** The number of model calls. Copies of a call do not count. */
  readonly calls: number;
  /** The cost of all calls to models with a price. */
  readonly costUsd: number;
  readonly costMicros: number;
  /** The number of calls to models without a price. The cost does not include them. */
  readonly unpricedCalls: number;
}

/** The usage of one model in a day, a week or a month. */
interface PartUsage extends UsageTotals {
  readonly model: string;
}

interface DayUsage extends UsageTotals {
  readonly date: string;
  /** The usage of each model. The most expensive model comes first. */
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
  /** The models of the session, in the order of their first calls. */
  readonly models: readonly string[];
  /**
   * The cost of the session as Claude Code recorded it, for comparison. It includes calls that are in no transcript,
   * such as titles and searches. It is null for sessions before August 2026 or without a terminal.
   */
  readonly costStateUsd: number | null;
}

/** The usage of five hours. A block is an estimate, because the real limits are not in the files. */
export interface UsageBlock extends UsageTotals {
  readonly isEstimate: true;
  readonly isGap: boolean;
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly firstActivityAt: Date | null;
  readonly lastActivityAt: Date | null;
}

export interface BurnRate {
  /** Tokens per minute, as the sum of input, output and cache tokens. */
  readonly tokensPerMinute: number;
  readonly costUsdPerHour: number;
}

/** The current block, and its estimated total at the end. */
export interface BlockForecast {
  readonly block: UsageBlock;
  readonly remainingMinutes: number;
  /** The burn rate, or null if all calls of the block have the same time. */
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
  /** The current block, or null if the last block is over. */
  readonly activeBlock: BlockForecast | null;
  readonly unpricedModels: readonly string[];
  readonly pricesVersion: string;
  /** The time zone that decides where a day begins. */
  readonly timeZone: string;
  /** Files that could not be read. Their calls are missing in the totals. */
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[];
}
