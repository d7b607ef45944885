import { useQuery } from "@tanstack/react-query";
import { sentenceOf } from "../api/api.ts";
import { useAgentNames } from "../api/agent-names.ts";
import { useApi, useMe } from "../api/context.tsx";
import { dayBars } from "../charts/day-bars.ts";
import { StackedBars } from "../charts/stacked-bars.tsx";
import { grouped, money } from "../ui/amounts.ts";
import { loadedWhenShown } from "../ui/loaded-when-shown.tsx";
import { LoadingRows, Nothing } from "../ui/empty-state.tsx";
import { useQueryValue } from "../ui/use-query-value.ts";
import { CapsSection } from "../usage/caps-section.tsx";
import { callCells, costCells, dayTable } from "../usage/day-table.ts";
import { saveUsage } from "../usage/save-usage.ts";
import { NothingUsed } from "../usage/nothing-used.tsx";
import { SessionTable } from "../usage/session-table.tsx";
import { ToolTable } from "../usage/tool-table.tsx";
import { UsageFigures } from "../usage/usage-figures.tsx";
import { type UsageKey, usageKeyOf } from "../usage/usage-keys.ts";
import { type UsageRange, useUsageRange } from "../usage/usage-range.ts";
import { UsageNotes } from "../usage/usage-notes.tsx";
import { UsageTable } from "../usage/usage-table.tsx";
import { UsageTop } from "../usage/usage-top.tsx";
import { usePageTitle } from "../ui/use-page-title.ts";

const HistoryUsage = loadedWhenShown(
  async () => (await import("../usage/history-usage.tsx")).HistoryUsage,
  <LoadingRows rows={8} />,
);

/** The usage, by day and model, agent, project, tool or key. Days are in the reader's time zone. */
export function UsagePage() {
  usePageTitle("Usage");
  const me = useMe();
  const range = useUsageRange();
  const [source, setSource] = useQueryValue("source");
  const [asked, setBy] = useQueryValue("by");
  const by = usageKeyOf(asked);
  const usage = useUsage(range, by);
  const hasHistory = me.data?.server.history.available ?? false;
  const isHistory = hasHistory && source === "agents";
  return (
    <>
      <UsageTop
        range={range}
        by={by}
        onBy={(next) => setBy(next === "model" ? null : next)}
        hasHistory={hasHistory}
        isHistory={isHistory}
        onSource={setSource}
        onSave={() => saveUsage(`usage-${range.days}-days.csv`, by, usage.byDay)}
      />
      <div className="scroll" tabIndex={0} role="region" aria-label="Usage">
        {isHistory ? (
          <HistoryUsage range={range} />
        ) : usage.models.isLoading ? (
          <LoadingRows rows={8} />
        ) : usage.models.isError ? (
          <Nothing title="Usage cannot be shown" state="failed">
            {sentenceOf(usage.models.error)}
          </Nothing>
        ) : (
          <SkeinUsage usage={usage} range={range} by={by} />
        )}
      </div>
    </>
  );
}

function useUsage({ bounds }: UsageRange, by: UsageKey) {
  const api = useApi();
  const rowsBy = (group_by: string) => ({
    queryKey: ["usage", group_by, bounds],
    queryFn: () => api.usage({ group_by, ...bounds }),
  });
  const models = useQuery(rowsBy("model"));
  const agents = useQuery(rowsBy("agent"));
  const sessions = useQuery(rowsBy("session"));
  const byDay = useQuery(rowsBy(`day,${by === "tool" ? "model" : by}`));
  const keys = useQuery(rowsBy("key"));
  const tools = useQuery({ queryKey: ["usage", "tools", bounds], queryFn: () => api.toolUsage(bounds) });
  return {
    models,
    agents: agents.data ?? [],
    sessions: sessions.data ?? [],
    keys: keys.data ?? [],
    byDay: byDay.data ?? [],
    tools: tools.data ?? [],
  };
}

/** The label of a row without a name. */
const NOBODY: Readonly<Record<UsageKey, string>> = {
  model: "No model",
  agent: "No agent",
  project: "No project",
  tool: "No tool",
  key: "Without a key",
};

interface SkeinUsageProps {
  readonly usage: ReturnType<typeof useUsage>;
  readonly range: UsageRange;
  readonly by: UsageKey;
}

function SkeinUsage({ usage, range, by }: SkeinUsageProps) {
  const { from, days } = range;
  const { nameOf: agentName, isHere } = useAgentNames(usage.agents.map(({ key }) => key));
  const nameOf = (key: string): string => (by === "agent" ? agentName(key) : key === "" ? NOBODY[by] : key);
  const models = (usage.models.data ?? []).toSorted((one, other) => other.cost_micros - one.cost_micros);
  const table = dayTable(by === "tool" ? callCells(usage.tools) : costCells(usage.byDay), nameOf);
  const what = by === "tool" ? "Calls" : "Cost";
  const format = by === "tool" ? grouped : money;
  if (models.length === 0 && usage.tools.length === 0)
    return (
      <div className="use">
        <NothingUsed range={range} what="used" />
        <CapsSection />
      </div>
    );
  const isUnpriced = table.totals.every((total) => total === 0);
  return (
    <div className="use">
      <UsageFigures rows={models} sessions={usage.sessions.length} table={table} format={format} />
      <StackedBars
        bars={dayBars({ from, days, valuesOf: table.valuesOf })}
        series={table.series}
        format={format}
        label={`${what} per day, ${days} days, by ${by}`}
      />
      {isUnpriced && <p className="lbl">{by === "tool" ? "No tool was called" : "Nothing was spent"} in these days.</p>}
      <UsageNotes rows={models} />
      <div className="two">
        <div>
          <UsageTable title="Models" rows={models} nameOf={(row) => row.key} />
          <SessionTable rows={usage.sessions} />
          <CapsSection />
        </div>
        <div>
          <UsageTable
            title="Agents"
            rows={usage.agents}
            nameOf={(row) => agentName(row.key)}
            hrefOf={(row) => (isHere(row.key) ? `/agents/${row.key}` : undefined)}
          />
          <UsageTable title="Keys" rows={usage.keys} nameOf={(row) => (row.key === "" ? NOBODY.key : row.key)} />
          <ToolTable rows={usage.tools} />
        </div>
      </div>
    </div>
  );
}
