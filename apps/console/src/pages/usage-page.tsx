import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "wouter";
import { type UsageRow, sentenceOf } from "../api/api.ts";
import { useAgents, useApi } from "../api/context.tsx";
import { type Bar, StackedBars } from "../charts/stacked-bars.tsx";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, money, percent, short } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { LoadingRows, Nothing } from "../ui/nothing.tsx";
import { csvOf } from "../ui/csv.ts";
import { saveFile } from "../ui/save-file.ts";
import { shortDay } from "../ui/times.ts";
import { useQueryValue } from "../ui/use-query-value.ts";

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
  const [range, setRange] = useQueryValue("range");
  const days = RANGES.find(([key]) => key === range)?.[2] ?? 30;
  const from = useMemo(() => new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - (days - 1) * DAY_MS), [days]);
  const to = useMemo(() => new Date(from.getTime() + days * DAY_MS), [from, days]);
  const key = [from.toISOString(), days];
  const query = { from: from.toISOString(), to: to.toISOString() };
  const models = useQuery({
    queryKey: ["usage", "models", ...key],
    queryFn: () => api.usage({ group_by: "model", ...query }),
    refetchInterval: 30_000,
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
  const sent = sum(rows, sentOf);
  const unpriced = sum(rows, (row) => row.unpriced_calls);

  const download = (): void => {
    const table = (byDay.data ?? []).flatMap(({ day, models: all }) =>
      all.map((row) => [
        day,
        row.key,
        row.runs,
        row.input_tokens,
        row.output_tokens,
        row.cache_read_input_tokens,
        row.cache_creation_input_tokens,
        row.cost_micros / 1e6,
      ]),
    );
    const columns = [
      "day",
      "model",
      "runs",
      "input_tokens",
      "output_tokens",
      "cache_read_tokens",
      "cache_write_tokens",
      "usd",
    ];
    saveFile(`usage-${days}-days.csv`, new Blob([csvOf(columns, table)], { type: "text/csv" }));
  };

  return (
    <>
      <header className="top">
        <h1>Usage</h1>
        <span className="grow" />
        <span className="seg" role="group" aria-label="Range">
          {RANGES.map(([value, word, count]) => (
            <button
              key={value}
              type="button"
              aria-pressed={count === days}
              onClick={() => setRange(value === "30" ? null : value)}
            >
              {word}
            </button>
          ))}
        </span>
        <button type="button" className="btn desk-only" onClick={download}>
          <Icon name="download" small />
          CSV
        </button>
      </header>
      <div className="scroll">
        {models.isLoading ? (
          <LoadingRows rows={8} />
        ) : models.isError ? (
          <Nothing title="Usage cannot be shown" state="failed">
            {sentenceOf(models.error)}
          </Nothing>
        ) : (
          <div className="use">
            <div className="figs">
              <Figure name="Cost" value={money(sum(rows, (row) => row.cost_micros))} />
              <Figure name="Tokens" value={short(sent + sum(rows, (row) => row.output_tokens))} />
              <Figure
                name="Read from the cache"
                value={percent(
                  sum(rows, (row) => row.cache_read_input_tokens),
                  sent,
                )}
              />
              <Figure name="Sessions" value={grouped(bySession.data?.length ?? 0)} />
              <ul className="legend use-legend">
                {rows.slice(0, 5).map((row, at) => (
                  <li key={row.key}>
                    <span className={`dot bg-c-${Math.min(5, at + 1)}`} />
                    <span className="cut">{visibleLine(row.key)}</span>
                    <span>{money(row.cost_micros)}</span>
                  </li>
                ))}
              </ul>
            </div>
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

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <div className="lbl">{name}</div>
      <div className="fig">{value}</div>
    </div>
  );
}

interface UsageTableProps {
  readonly title: string;
  readonly rows: readonly UsageRow[];
  readonly nameOf: (row: UsageRow) => string;
  readonly hrefOf: (row: UsageRow) => string;
}

function UsageTable({ title, rows, nameOf, hrefOf }: UsageTableProps) {
  const top = rows.toSorted((one, other) => other.cost_micros - one.cost_micros).slice(0, 10);
  const most = Math.max(1, top[0]?.cost_micros ?? 1);
  return (
    <section>
      <div className="h">
        <h2>{title}</h2>
      </div>
      <div className="card">
        <table className="tbl">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" className="w-bar">
                <span className="sr">Share</span>
              </th>
              <th scope="col" className="r w-num">
                Runs
              </th>
              <th scope="col" className="r w-num">
                Cost
              </th>
            </tr>
          </thead>
          <tbody>
            {top.map((row) => (
              <tr key={row.key}>
                <td className="t">
                  <Link href={hrefOf(row)}>{visibleLine(nameOf(row))}</Link>
                </td>
                <td>
                  <span className="hbar" style={{ width: `${Math.max(2, (row.cost_micros / most) * 100)}%` }} />
                </td>
                <td className="r">{grouped(row.runs)}</td>
                <td className="r">{money(row.cost_micros)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The dearest sessions, by the titles that they have now. */
function SessionTable({ rows }: { rows: readonly UsageRow[] }) {
  const api = useApi();
  const top = rows.toSorted((one, other) => other.cost_micros - one.cost_micros).slice(0, 10);
  const titles = useQuery({
    queryKey: ["titles", ...top.map(({ key }) => key)],
    queryFn: async () =>
      new Map(
        await Promise.all(
          top.map(async ({ key }) => [key, (await api.session(key).catch(() => undefined))?.title ?? null] as const),
        ),
      ),
    enabled: top.length > 0,
    staleTime: 60_000,
  });
  return (
    <UsageTable
      title="Sessions that cost most"
      rows={top}
      nameOf={({ key }) => titles.data?.get(key) ?? `Session ${key.slice(0, 8)}`}
      hrefOf={({ key }) => `/sessions/${key}`}
    />
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

function sentOf(row: UsageRow): number {
  return row.input_tokens + row.cache_read_input_tokens + row.cache_creation_input_tokens;
}

function sum(rows: readonly UsageRow[], of: (row: UsageRow) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}
