import type { ToolUsageRow } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { duration, grouped, percent } from "../ui/amounts.ts";
import { NumberHeads, TableSection } from "./table-section.tsx";
import { sum } from "./sums.ts";

const MOST = 10;

/** The most called tools: number of calls, failures, and duration. */
export function ToolTable({ rows }: { readonly rows: readonly ToolUsageRow[] }) {
  const tools = [...Map.groupBy(rows, ({ tool }) => tool)].map(([tool, days]) => ({
    tool,
    calls: sum(days, ({ calls }) => calls),
    failed: sum(days, ({ failed }) => failed),
    unknown: sum(days, ({ unknown }) => unknown),
    ms: sum(days, ({ duration_ms }) => duration_ms),
  }));
  if (tools.length === 0) return null;
  return (
    <TableSection title="Tools" heads={<NumberHeads names={["Calls", "Failed", "Unknown", "A call"]} />}>
      {tools
        .sort((one, other) => other.calls - one.calls)
        .slice(0, MOST)
        .map(({ tool, calls, failed, unknown, ms }) => (
          <tr key={tool}>
            <td className="t cut">{visibleLine(tool)}</td>
            <td className="r">{grouped(calls)}</td>
            <td className="r">{percent(failed, calls)}</td>
            <td className="r">{grouped(unknown)}</td>
            <td className="r">{duration(ms / calls)}</td>
          </tr>
        ))}
    </TableSection>
  );
}
