import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { type UsageRow, sentenceOf } from "../api/api.ts";
import { useAgents, useApi, useMe } from "../api/context.tsx";
import { type Bar, StackedBars } from "../charts/stacked-bars.tsx";
import { grouped, money } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { LoadingRows, Nothing } from "../ui/nothing.tsx";
import { shortDay } from "../ui/times.ts";
import { useQueryValue } from "../ui/use-query-value.ts";
import { saveUsage } from "../usage/save-usage.ts";
import { SessionTable } from "../usage/session-table.tsx";
import { UsageFigures } from "../usage/usage-figures.tsx";
import { UsageTable } from "../usage/usage-table.tsx";

const HistoryUsage = lazy(async () => ({ default: (await import("../usage/history-usage.tsx")).HistoryUsage }));

const DAY_MS = 86_400_000;
const RANGES: readonly (readonly [key: string, word: string, days: number])[] = [
  ["1", "Today", 1],
  ["7", "7 days", 7],
  ["30", "30 days", 30],
  ["140", "20 weeks", 140],
];
/** Each day with usage is asked for by itself: of longer ranges only the days. */
const MOST_BY_MODEL = 31;

/** What was spent, by day and model, agent and session. Days are those of UTC, as the server adds them up. */
export function UsagePage() {
  const api = useApi();
  const agents = useAgents();
  const me = useMe();
  const [range, setRange] = useQueryValue("range");
  const [source, setSource] = useQueryValue("source");
  const hasHistory = me.data?.server.history.available ?? false;
  const isHistory = hasHistory && source === "claude-code";
  const days = RANGES.find(([key]) => key === range)?.[2] ?? 30;
  const from = useMemo(() => new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - (days - 1) * DAY_MS), [days]);
  const to = useMemo(() => new Date(from.getTime() + days * DAY_MS), [from, days]);
  const key = [from.toISOString(), days];
  const query = { from: from.toISOString(), to: to.toISOString() };
  const models = useQuery({
    queryKey: ["usage", "models", ...key],
    queryFn: () => api.usage({ group_by: "model", ...query }),
  });
  const byDay = useQuery({
    queryKey: ["usage", "days", ...key],
    queryFn: async () =>
      days <= MOST_BY_MODEL
        ? api.usageByDayAndModel(from, to)
        : (await api.usage({ group_by: "day", ...query })).map((row) => ({
            day: row.key,
            models: [{ ...row, key: "All models" }],
          })),
  });
  const byAgent = useQuery({
    queryKey: ["usage", "agents", ...key],
    queryFn: () => api.usage({ group_by: "agent", ...query }),
  });
  const bySession = useQuery({
    queryKey: ["usage", "sessions", ...key],
    queryFn: () => api.usage({ group_by: "session", ...query }),
  });
  const rows = (models.data ?? []).toSorted((one, other) => other.cost_micros - one.cost_micros);
  const series = days <= MOST_BY_MODEL ? rows.map(({ key: name }) => name) : ["All models"];
  const bars = barsOf({ from, days, series, byDay: byDay.data ?? [] });
  const unpriced = rows.reduce((total, row) => total + row.unpriced_calls, 0);

  return (
    <>
      <UsageTop
        days={days}
        hasHistory={hasHistory}
        isHistory={isHistory}
        onSource={setSource}
        onRange={setRange}
        onSave={() => saveUsage(`usage-${days}-days.csv`, byDay.data ?? [])}
      />
      <div className="scroll">
        {isHistory ? (
          <Suspense fallback={<LoadingRows rows={8} />}>
            <HistoryUsage from={from} days={days} />
          </Suspense>
        ) : models.isLoading ? (
          <LoadingRows rows={8} />
        ) : models.isError ? (
          <Nothing title="Usage cannot be shown" state="failed">
            {sentenceOf(models.error)}
          </Nothing>
        ) : (
          <div className="use">
            <UsageFigures rows={rows} sessions={bySession.data?.length ?? 0} />
            <StackedBars bars={bars} series={series} format={money} label={`Cost per day, ${days} days, by model`} />
            {unpriced > 0 && (
              <p className="lbl">{grouped(unpriced)} model calls have no price and are left out of the cost.</p>
            )}
            <div className="two">
              <UsageTable
                title="Agents"
                rows={byAgent.data ?? []}
                nameOf={(row) => agents.data?.find(({ id }) => id === row.key)?.name ?? "A deleted agent"}
                hrefOf={(row) => `/agents/${row.key}`}
              />
              <SessionTable rows={bySession.data ?? []} />
            </div>
          </div>
        )}
      </div>
    </>
  );
}

interface UsageTopProps {
  readonly days: number;
  readonly hasHistory: boolean;
  readonly isHistory: boolean;
  readonly onSource: (source: string | null) => void;
  readonly onRange: (range: string | null) => void;
  readonly onSave: () => void;
}

function UsageTop({ days, hasHistory, isHistory, onSource, onRange, onSave }: UsageTopProps) {
  return (
    <header className="top">
      <h1>Usage</h1>
      {hasHistory && (
        <span className="seg" role="group" aria-label="Source">
          <button type="button" aria-pressed={!isHistory} onClick={() => onSource(null)}>
            Skein
          </button>
          <button type="button" aria-pressed={isHistory} onClick={() => onSource("claude-code")}>
            Claude Code
          </button>
        </span>
      )}
      <span className="grow" />
      <span className="seg" role="group" aria-label="Range">
        {RANGES.map(([value, word, count]) => (
          <button
            key={value}
            type="button"
            aria-pressed={count === days}
            onClick={() => onRange(value === "30" ? null : value)}
          >
            {word}
          </button>
        ))}
      </span>
      {!isHistory && (
        <button type="button" className="btn desk-only" onClick={onSave}>
          <Icon name="download" small />
          CSV
        </button>
      )}
    </header>
  );
}

function barsOf({
  from,
  days,
  series,
  byDay,
}: {
  from: Date;
  days: number;
  series: readonly string[];
  byDay: readonly { day: string; models: readonly UsageRow[] }[];
}): readonly Bar[] {
  const found = new Map(byDay.map(({ day, models }) => [day, models]));
  const every = Math.ceil(days / 6);
  return Array.from({ length: days }, (_, at) => {
    const date = new Date(from.getTime() + at * DAY_MS);
    const day = date.toISOString().slice(0, 10);
    const models = found.get(day) ?? [];
    const isToday = at === days - 1;
    return {
      key: day,
      label: shortDay(date),
      tick: isToday ? "Today" : (days - 1 - at) % every === 0 ? shortDay(date) : "",
      values: series.map((name) => models.find(({ key }) => key === name)?.cost_micros ?? 0),
      isUnfinished: isToday,
    };
  });
}
