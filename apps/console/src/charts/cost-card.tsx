import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/context.tsx";
import { serverNow } from "../api/server-clock.ts";
import { visibleLine } from "../text/safe-text.ts";
import { money, percent, short } from "../ui/amounts.ts";
import { dayStart } from "../ui/local-days.ts";
import { Figure } from "../usage/figure.tsx";
import { costOfRow, isSimulated } from "../usage/cost-of-row.ts";
import { sentTokens, sum } from "../usage/sums.ts";

/** The cost of today and of the last seven days, by model, in the reader's time zone. */
export function CostCard() {
  const api = useApi();
  const key = dayStart(serverNow()).toISOString();
  const week = dayStart(serverNow(), -6).toISOString();
  const now = useQuery({
    queryKey: ["usage", "today", key],
    queryFn: () => api.usage({ group_by: "model", from: key }),
  });
  const seven = useQuery({
    queryKey: ["usage", "week", week],
    queryFn: () => api.usage({ group_by: "model", from: week }),
  });
  const rows = [...(seven.data ?? [])].sort((one, other) => other.cost_micros - one.cost_micros);
  const todayOf = (name: string): string => {
    const today = now.data?.find(({ key: model }) => model === name);
    return today ? costOfRow(today) : money(0);
  };
  const all = sum(rows, (row) => row.cost_micros);
  const read = sum(rows, (row) => row.cache_read_input_tokens);
  const sent = sum(rows, sentTokens);
  return (
    <div className="card pad">
      <div className="money">
        <Figure name="Today" value={money(sum(now.data ?? [], (row) => row.cost_micros))} />
        <Figure name="7 days" value={money(all)} />
      </div>
      {all > 0 && (
        <div className="bars" aria-hidden="true">
          {rows
            .filter((row) => row.cost_micros > 0)
            .map((row, at) => (
              // Without a part for rows that cost nothing, the parts and the gaps between them fill the bar.
              <i key={row.key} className={`bg-c-${Math.min(5, at + 1)}`} style={{ flex: `${row.cost_micros} 1 0` }} />
            ))}
        </div>
      )}
      {rows.length === 0 ? (
        <p className="lbl">Nothing was spent in seven days.</p>
      ) : (
        <ul className="legend">
          <li className="faint">
            <span />
            <span>Model</span>
            <span>Today</span>
            <span>7 days</span>
          </li>
          {rows.slice(0, 5).map((row, at) => (
            <li key={row.key}>
              <span className={`dot bg-c-${Math.min(5, at + 1)}`} />
              <span className="cut">{visibleLine(row.key)}</span>
              <span>{todayOf(row.key)}</span>
              <span>{costOfRow(row)}</span>
            </li>
          ))}
        </ul>
      )}
      {sent > 0 && (
        <p className="lbl card-foot">
          {short(sent + sum(rows, (row) => row.output_tokens))}{" "}
          {rows.every(isSimulated)
            ? "simulated tokens in 7 days"
            : `tokens in 7 days, ${percent(read, sent)} read from the cache`}
        </p>
      )}
    </div>
  );
}
