import type { UsageRow } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, money, percent, short } from "../ui/amounts.ts";
import type { DayTable } from "./day-table.ts";
import { isSimulated } from "./cost-of-row.ts";
import { Figure } from "./figure.tsx";
import { sentTokens, sum } from "./sums.ts";

interface UsageFiguresProps {
  /** One row for each model, most expensive first. */
  readonly rows: readonly UsageRow[];
  /** How many sessions were active. */
  readonly sessions: number;
  /** The parts of the bars, and their totals. */
  readonly table: DayTable;
  readonly format: (value: number) => string;
}

/** The totals of the range in large figures, and a legend of the bars' colours. */
export function UsageFigures({ rows, sessions, table, format }: UsageFiguresProps) {
  const sent = sum(rows, sentTokens);
  const simulated = new Set(rows.filter(isSimulated).map(({ key }) => key));
  return (
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
      <Figure name="Sessions" value={grouped(sessions)} />
      <ul className="legend use-legend">
        {table.series.map((name, at) => (
          <li key={name}>
            <span className={`dot bg-c-${Math.min(5, at + 1)}`} />
            <span className="cut">{visibleLine(name)}</span>
            <span className="end num">{simulated.has(name) ? "simulated" : format(table.totals[at] ?? 0)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
