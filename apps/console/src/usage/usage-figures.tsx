import type { UsageRow } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, money, percent, short } from "../ui/amounts.ts";

interface UsageFiguresProps {
  /** One row for each model, the one that cost most first. */
  readonly rows: readonly UsageRow[];
  /** How many sessions were at work. */
  readonly sessions: number;
}

/** The sums of the range in large figures, and the models that cost most. */
export function UsageFigures({ rows, sessions }: UsageFiguresProps) {
  const sent = sum(rows, sentOf);
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
        {rows.slice(0, 5).map((row, at) => (
          <li key={row.key}>
            <span className={`dot bg-c-${Math.min(5, at + 1)}`} />
            <span className="cut">{visibleLine(row.key)}</span>
            <span>{money(row.cost_micros)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <div className="lbl">{name}</div>
      <div className="fig">{value}</div>
    </div>
  );
}

function sentOf(row: UsageRow): number {
  return row.input_tokens + row.cache_read_input_tokens + row.cache_creation_input_tokens;
}

function sum(rows: readonly UsageRow[], of: (row: UsageRow) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}
