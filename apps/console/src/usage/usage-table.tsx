import { Link } from "wouter";
import type { UsageRow } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";
import { grouped } from "../ui/amounts.ts";
import { costOfRow } from "./cost-of-row.ts";
import { NumberHeads, TableSection } from "./table-section.tsx";

interface UsageTableProps {
  readonly title: string;
  readonly rows: readonly UsageRow[];
  readonly nameOf: (row: UsageRow) => string;
  /** The link of the name, if there is a page for it. */
  readonly hrefOf?: (row: UsageRow) => string | undefined;
}

/** The ten rows with the highest cost. A bar compares each cost with the highest one. */
export function UsageTable({ title, rows, nameOf, hrefOf }: UsageTableProps) {
  const top = rows.toSorted((one, other) => other.cost_micros - one.cost_micros).slice(0, 10);
  const most = Math.max(1, top[0]?.cost_micros ?? 1);
  return (
    <TableSection
      title={title}
      heads={
        <>
          <th scope="col" className="w-bar">
            <span className="sr">Share</span>
          </th>
          <NumberHeads names={["Runs", "Cost"]} />
        </>
      }
    >
      {top.map((row) => (
        <tr key={row.key}>
          <td className="t">
            <RowName name={nameOf(row)} href={hrefOf?.(row)} />
          </td>
          <td>
            <span className="hbar" style={{ width: barWidth(row.cost_micros, most) }} />
          </td>
          <td className="r">{grouped(row.runs)}</td>
          <td className="r">{costOfRow(row)}</td>
        </tr>
      ))}
    </TableSection>
  );
}

/** A row with a cost has a visible bar, and a row without a cost has none. */
function barWidth(micros: number, most: number): string {
  return micros === 0 ? "0" : `${Math.max(2, (micros / most) * 100)}%`;
}

function RowName({ name, href }: { name: string; href: string | undefined }) {
  return href === undefined ? visibleLine(name) : <Link href={href}>{visibleLine(name)}</Link>;
}
