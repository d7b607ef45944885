import { z } from "zod";

/** A line of `history.jsonl`, which contains the typed prompts of all projects. */
export const HistoryEntry = z.looseObject({
  display: z.string(),
  pastedContents: z.record(z.string(), z.unknown()).nullish(),
  timestamp: z.number(),
  project: z.string().nullish(),
  sessionId: z.string().nullish(),
});
export type HistoryEntry = z.infer<typeof HistoryEntry>;

export const DailyStats = z.looseObject({
  date: z.string(),
  messageCount: z.number(),
  sessionCount: z.number(),
  toolCallCount: z.number(),
});

/**
 * `stats-cache.json`, version 1 and later. Claude Code often does not update the file, so its numbers must not be used
 * for totals.
 */
export const StatsCache = z.looseObject({
  version: z.number(),
  lastComputedDate: z.string().nullish(),
  dailyActivity: z.array(DailyStats),
  dailyModelTokens: z
    .array(z.looseObject({ date: z.string(), tokensByModel: z.record(z.string(), z.number()) }))
    .optional(),
  modelUsage: z.record(z.string(), z.looseObject({})).optional(),
  totalSessions: z.number().optional(),
  totalMessages: z.number().optional(),
  longestSession: z.unknown().optional(),
  firstSessionDate: z.string().nullish(),
  hourCounts: z.record(z.string(), z.number()).optional(),
});
export type StatsCache = z.infer<typeof StatsCache>;

/** The content of `agent-<id>.meta.json`, a file beside the transcript of a subagent. */
export const AgentMeta = z.looseObject({
  agentType: z.string().nullish(),
  description: z.string().nullish(),
  toolUseId: z.string().nullish(),
  spawnDepth: z.number().nullish(),
  parentAgentId: z.string().nullish(),
  model: z.string().nullish(),
});
export type AgentMeta = z.infer<typeof AgentMeta>;
