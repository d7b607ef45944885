import { useQuery } from "@tanstack/react-query";
import type { RouteInput } from "@skein/protocol";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { type HistoryUsageRow, sentenceOf } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { historyHref } from "../api/history-key.ts";
import { dayBars } from "../charts/day-bars.ts";
import { StackedBars } from "../charts/stacked-bars.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { costWords, grouped, money, percent, plural, short, shortModel } from "../ui/amounts.ts";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import { shortId } from "../ui/session-state.ts";
import { clock, shortDay } from "../ui/times.ts";
import { useQueryValue } from "../ui/use-query-value.ts";
import { sourceName } from "../sessions/listed-row.ts";
import { Figure } from "./figure.tsx";
import { NothingUsed } from "./nothing-used.tsx";
import { sentTokens, sum } from "./sums.ts";
import type { UsageRange } from "./usage-range.ts";
import { NumberHeads, TableSection } from "./table-section.tsx";

const BLOCKS = 10;

/**
 * The usage of the sessions of coding agents, by agent, day, model, project, tool and block of five hours.
 * `?agent=codex` shows only one coding agent.
 */
export function HistoryUsage({ range }: { range: UsageRange }) {
  const { from, days, bounds } = range;
  const [agent, setAgent] = useQueryValue("agent");
  const { sources, allTime, byDay, models, projects, sessions, blocks, tools } = useHistoryRows(bounds, agent);
  const dearest = (sessions.data ?? []).toSorted(byCost).slice(0, BLOCKS);
  const titles = useHistoryTitles(dearest);
  if (byDay.isLoading || models.isLoading) return <LoadingRows rows={8} />;
  if (byDay.isError)
    return (
      <Nothing title="Usage of other agents cannot be shown" state="failed">
        {sentenceOf(byDay.error)}
      </Nothing>
    );
  const rows = models.data ?? [];
  if (rows.length === 0)
    return (
      <div className="use">
        <NothingUsed range={range} what="used by other agents" />
        <p className="lbl">{allTimeNote(allTime.data ?? [])}</p>
      </div>
    );
  const sent = sum(rows, sentTokens);
  const cost = new Map((byDay.data ?? []).map((row) => [row.key, row.cost_micros]));
  return (
    <div className="use">
      <div className="figs">
        <Figure name="Cost by the price table" value={costOf(rows)} />
        <Figure name="Tokens" value={short(sent + sum(rows, (row) => row.output_tokens))} />
        <Figure
          name="Read from the cache"
          value={percent(
            sum(rows, (row) => row.cache_read_input_tokens),
            sent,
          )}
        />
        <Figure name="Sessions" value={grouped(sessions.data?.length ?? 0)} />
      </div>
      <StackedBars
        bars={dayBars({ from, days, valuesOf: (day) => [cost.get(day) ?? 0] })}
        series={["All models"]}
        format={money}
        label={`Cost per day of other agents' sessions, ${days} days`}
      />
      <PriceNote unpriced={sum(rows, (row) => row.unpriced_calls)} />
      <p className="lbl">{allTimeNote(allTime.data ?? [])}</p>
      {agent !== null && (
        <p>
          <button type="button" className="filter on" onClick={() => setAgent(null)}>
            Only {visibleLine(sourceName(agent))} ×
          </button>
        </p>
      )}
      <div className="two">
        <Table
          title="Agents"
          rows={sources.data ?? []}
          name={(row) => (
            <button type="button" className="plain link" onClick={() => setAgent(row.key)}>
              {visibleLine(sourceName(row.key))}
            </button>
          )}
        />
        <Table title="Models" rows={rows} name={(row) => shortModel(visibleLine(row.key))} />
        <Table title="Projects" rows={projects.data ?? []} name={(row) => visibleLine(row.key)} />
        <Table title="Blocks of five hours" rows={latestBlocks(blocks.data ?? [])} name={blockName} />
        <Table
          title="Sessions"
          rows={dearest}
          name={(row) => (
            <Link className="link" href={historyHref({ id: row.key, source: row.source })}>
              {visibleLine(titles.data?.get(keyOf(row)) ?? `Session ${shortId(row.key)}`)}
              {dearest.some((other) => other !== row && other.key === row.key) &&
                ` · ${visibleLine(sourceName(row.source ?? ""))}`}
            </Link>
          )}
        />
        <ToolTable rows={tools.data ?? []} />
      </div>
    </div>
  );
}

function PriceNote({ unpriced }: { unpriced: number }) {
  return (
    <p className="lbl">
      Estimated from the price table for each call in the transcripts. Subscriptions are billed differently.
      {unpriced > 0 && ` ${plural(unpriced, "call")} without a price ${unpriced === 1 ? "is" : "are"} in no cost.`}
    </p>
  );
}

/** The usage of one agent, or of all, grouped in every way that the page shows. */
function useHistoryRows(bounds: UsageRange["bounds"], agent: string | null) {
  const api = useApi();
  const by = (group_by: NonNullable<RouteInput<"getHistoryUsage">["query"]>["group_by"], source = agent) => ({
    queryKey: ["history", "usage", group_by, bounds, source],
    queryFn: () => api.historyUsage({ group_by, ...bounds, ...(source !== null && { source }) }),
    retry: false,
  });
  return {
    sources: useQuery(by("source", null)),
    allTime: useQuery({
      queryKey: ["history", "usage", "all time", agent],
      queryFn: () => api.historyUsage({ group_by: "month", ...(agent !== null && { source: agent }) }),
      retry: false,
    }),
    byDay: useQuery(by("day")),
    models: useQuery(by("model")),
    projects: useQuery(by("project")),
    sessions: useQuery(by("session")),
    blocks: useQuery(by("block")),
    tools: useQuery(by("tool")),
  };
}

/** Returns a key that contains the source, because sessions of two agents may have the same id. */
function keyOf({ key, source = "" }: HistoryUsageRow): string {
  return `${source} ${key}`;
}

/** The titles of some sessions. A session that cannot be read has no title. */
function useHistoryTitles(sessions: readonly HistoryUsageRow[]) {
  const api = useApi();
  return useQuery({
    queryKey: ["history", "titles", ...sessions.map(keyOf)],
    queryFn: async () =>
      new Map(
        await Promise.all(
          sessions.map(async (row) => {
            const found = await api.historySession({ id: row.key, source: row.source }).catch(() => undefined);
            return [keyOf(row), found?.title] as const;
          }),
        ),
      ),
    enabled: sessions.length > 0,
    staleTime: 60_000,
  });
}

function costOf(rows: readonly HistoryUsageRow[]): string {
  return costWords(
    sum(rows, (row) => row.cost_micros),
    sum(rows, (row) => row.unpriced_calls),
  );
}

/** Returns a note with the sums over all months. The range of the page may not contain all months. */
function allTimeNote(months: readonly HistoryUsageRow[]): string {
  const [first] = months;
  if (!first) return "";
  const tokens = sum(months, (row) => sentTokens(row) + row.output_tokens);
  return `Since ${first.key}, the month of the first call: ${costOf(months)}, ${short(tokens)} tokens.`;
}

function latestBlocks(blocks: readonly HistoryUsageRow[]): readonly HistoryUsageRow[] {
  return blocks
    .filter(({ is_gap }) => is_gap !== true)
    .slice(-BLOCKS)
    .toReversed();
}

function blockName({ key, ends_at }: HistoryUsageRow): string {
  return `${shortDay(key)}, ${clock(key)} to ${clock(ends_at ?? key)}`;
}

function byCost(one: HistoryUsageRow, other: HistoryUsageRow): number {
  return other.cost_micros - one.cost_micros;
}

interface TableProps {
  readonly title: string;
  readonly rows: readonly HistoryUsageRow[];
  readonly name: (row: HistoryUsageRow) => ReactNode;
}

function Table({ title, rows, name }: TableProps) {
  return (
    <TableSection title={title} heads={<NumberHeads names={["Calls", "Tokens", "Cost"]} />}>
      {rows.slice(0, BLOCKS).map((row) => (
        <tr key={keyOf(row)}>
          <td className="t cut">{name(row)}</td>
          <td className="r">{grouped(row.calls)}</td>
          <td className="r">{short(sentTokens(row) + row.output_tokens)}</td>
          <td className="r">{costWords(row.cost_micros, row.unpriced_calls)}</td>
        </tr>
      ))}
    </TableSection>
  );
}

function ToolTable({ rows }: { rows: readonly HistoryUsageRow[] }) {
  return (
    <TableSection title="Tools" heads={<NumberHeads names={["Calls", "Failed"]} />}>
      {rows.slice(0, 15).map((row) => (
        <tr key={row.key}>
          <td className="t cut">{visibleLine(row.key)}</td>
          <td className="r">{grouped(row.calls)}</td>
          <td className="r">{percent(row.failed ?? 0, row.calls)}</td>
        </tr>
      ))}
    </TableSection>
  );
}
