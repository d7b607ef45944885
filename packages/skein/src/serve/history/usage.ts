import {
  type LibraryConfig,
  type SessionSummary,
  type UsageReport,
  type UsageTotals,
  getToolUsage,
  getUsage,
} from "@skein/history";
import { checkedTimeZone } from "@skein/core";
import type { HistorySessionUsage, HistoryUsageQuery, HistoryUsageRow } from "@skein/protocol";
import type { z } from "zod";
import { ofSource } from "./source-filter.ts";

type SessionUsage = UsageReport["bySession"][number];
type Query = z.output<typeof HistoryUsageQuery>;

export interface Usage {
  rows(query: Query, signal: AbortSignal): Promise<string>;
  /**
   * Returns the last known usage of a session, or null until the first count has ended. Starts a new count if the last
   * count is old.
   */
  ofSession(session: Pick<SessionSummary, "id" | "source">): CountedSession | null;
  /** Waits until usage has been counted once. */
  counted(): Promise<void>;
}

/** The usage and the cost of a session with its subagents. */
export interface CountedSession {
  /** Null if no call has a price. */
  readonly cost_micros: number | null;
  readonly usage: HistorySessionUsage;
}

const NOTHING_USED: CountedSession = {
  cost_micros: 0,
  usage: {
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    calls: 0,
    unpriced_calls: 0,
    models: [],
  },
};

/** The shortest time between two counts of usage. Usage is counted only while lists are requested. */
const COUNT_AGAIN_MS = 60_000;

/** Counts the usage of the sessions of coding agents. */
export function createUsage(config: LibraryConfig): Usage {
  let sessions: ReadonlyMap<string, SessionUsage> | undefined;
  let countedAt = -Infinity;
  let counting: Promise<unknown> = Promise.resolve();

  function countSoon(): void {
    if (performance.now() - countedAt < COUNT_AGAIN_MS) return;
    countedAt = performance.now();
    counting = getUsage({ ...config, timeZone: "UTC" })
      .then(({ bySession }) => (sessions = new Map(bySession.map((one) => [keyOf(one.source, one.sessionId), one]))))
      // If this fails, the list is shown without usage.
      .catch(() => undefined);
  }

  return {
    ofSession({ id, source }) {
      countSoon();
      if (!sessions) return null;
      const found = sessions.get(keyOf(source, id));
      if (!found) return NOTHING_USED;
      const { key: _key, cost_micros: _cost, ...counts } = row(id, found);
      return { cost_micros: costIn(found), usage: { ...counts, models: [...found.models] } };
    },
    async counted() {
      countSoon();
      if (!sessions) await counting;
    },
    async rows({ group_by, from, to, project, source, time_zone = "UTC" }, signal) {
      const bounds = {
        ...config,
        signal,
        timeZone: checkedTimeZone(time_zone),
        ...(from !== undefined && { since: new Date(from) }),
        ...(to !== undefined && { until: new Date(to) }),
        ...(project !== undefined && { workspace: project }),
        ...ofSource(source),
      };
      if (group_by === "tool") return JSON.stringify({ data: await toolRows(bounds) });
      return JSON.stringify({ data: rowsOf(await getUsage(bounds), group_by) });
    },
  };
}

/** Sessions of two coding agents may have the same id. */
function keyOf(source: string, sessionId: string): string {
  return `${source} ${sessionId}`;
}

function costIn({ costMicros, unpricedCalls }: UsageTotals): number | null {
  return costMicros === 0 && unpricedCalls > 0 ? null : costMicros;
}

function rowsOf(report: UsageReport, by: Exclude<Query["group_by"], "tool">): readonly HistoryUsageRow[] {
  switch (by) {
    case "day":
      return report.byDay.map((one) => row(one.date, one));
    case "week":
      return report.byWeek.map((one) => row(one.week, one));
    case "month":
      return report.byMonth.map((one) => row(one.month, one));
    case "model":
      return report.byModel.map((one) => row(one.model, one));
    case "project":
      return report.byProject.map((one) => row(one.projectPath, one));
    case "session":
      return report.bySession.map((one) => ({ ...row(one.sessionId, one), source: one.source }));
    case "source":
      return report.bySource.map((one) => row(one.source, one));
    case "block":
      return report.blocks.map((one) => ({
        ...row(one.startsAt.toISOString(), one),
        ends_at: one.endsAt.toISOString(),
        is_gap: one.isGap,
      }));
  }
}

function row(key: string, totals: UsageTotals): Omit<HistoryUsageRow, "source" | "ends_at" | "is_gap" | "failed"> {
  return {
    key,
    input_tokens: totals.inputTokens,
    output_tokens: totals.outputTokens,
    cache_creation_input_tokens: totals.cacheCreationInputTokens,
    cache_read_input_tokens: totals.cacheReadInputTokens,
    calls: totals.calls,
    cost_micros: totals.costMicros,
    unpriced_calls: totals.unpricedCalls,
  };
}

/** Returns how often each tool was called and how often it failed. Tools have no tokens and no cost. */
async function toolRows(config: LibraryConfig): Promise<readonly HistoryUsageRow[]> {
  const tools = await getToolUsage(config);
  return tools.map(({ name, calls, failed }) => ({
    key: name,
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    calls,
    cost_micros: 0,
    unpriced_calls: 0,
    failed,
  }));
}
