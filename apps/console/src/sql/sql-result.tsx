import { useState } from "react";
import type { SqlAnswer } from "../api/sql.ts";
import { visibleLine } from "../text/safe-text.ts";
import { grouped, plural } from "../ui/amounts.ts";
import { Icon } from "../ui/icon.tsx";
import { csvOf } from "../ui/csv.ts";
import { saveFile } from "../ui/save-file.ts";
import { RowsChart } from "./rows-chart.tsx";

/** The table shows at most this many rows. The download has all rows of the answer. */
const SHOWN = 1000;

type Show = "table" | "both" | "chart";

/** The answer as a table or a chart, with a download. */
export function SqlResult({ answer }: { answer: SqlAnswer }) {
  const { columns, rows, truncated, notice, ms } = answer;
  const numbers = columns.filter(({ type }) => /INT|DOUBLE|DECIMAL|FLOAT/.test(type));
  const canChart = numbers.length > 0 && columns.length > 1 && rows.length > 0;
  const [chosen, setShow] = useState<Show>("both");
  const show = canChart ? chosen : "table";
  const names = columns.map(({ name }) => name);
  const save = (kind: "csv" | "json"): void => {
    const text =
      kind === "csv"
        ? csvOf(
            names,
            rows.map((row) => names.map((name) => row[name])),
          )
        : JSON.stringify(rows, null, 2);
    saveFile(`answer.${kind}`, new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }));
  };
  return (
    <>
      <div className="resbar">
        {canChart && (
          <span className="seg" role="group" aria-label="Show as">
            {(["table", "chart", "both"] as const).map((value) => (
              <button key={value} type="button" aria-pressed={show === value} onClick={() => setShow(value)}>
                {{ table: "Table", chart: "Chart", both: "Both" }[value]}
              </button>
            ))}
          </span>
        )}
        <span className="lbl num">
          {plural(rows.length, "row")} in {grouped(ms)} ms{truncated && ", cut off: there are more"}
        </span>
        <span className="grow" />
        <button type="button" className="btn quiet" onClick={() => save("csv")}>
          <Icon name="download" small />
          CSV
        </button>
        <button type="button" className="btn quiet" onClick={() => save("json")}>
          JSON
        </button>
      </div>
      {notice !== undefined && (
        <p className="note waiting pad" role="status">
          {notice}
        </p>
      )}
      <div className={`res ${show}`}>
        {show !== "chart" && (
          <div className="scroll res-table" tabIndex={0} role="region" aria-label="Rows">
            <table className="tbl free">
              <thead>
                <tr>
                  {columns.map(({ name, type }) => (
                    <th key={name} scope="col" className={isNumber(type) ? "r" : ""}>
                      {visibleLine(name)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.slice(0, SHOWN).map((row, at) => (
                  <tr key={at}>
                    {columns.map(({ name, type }) => (
                      <td key={name} className={isNumber(type) ? "r" : ""}>
                        {cell(row[name])}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
            {rows.length > SHOWN && (
              <p className="lbl pad">
                The first {grouped(SHOWN)} rows. The download has all {grouped(rows.length)}.
              </p>
            )}
          </div>
        )}
        {show !== "table" && <RowsChart answer={answer} />}
      </div>
    </>
  );
}

function isNumber(type: string): boolean {
  return /INT|DOUBLE|DECIMAL|FLOAT/.test(type);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isInteger(value) ? grouped(value) : String(value);
  return visibleLine(typeof value === "string" ? value : JSON.stringify(value)).slice(0, 300);
}
