import { scaleLinear } from "d3-scale";
import { useState } from "react";
import type { SqlAnswer } from "../api/sql.ts";
import { visibleLine } from "../text/safe-text.ts";
import { grouped } from "../ui/amounts.ts";
import { useSize } from "../ui/use-size.ts";

const ROW = 27;
const NAME = 118;
const MOST = 40;

/** A bar for each of the first 40 rows. One column gives the lengths of the bars, another gives their labels. */
export function RowsChart({ answer }: { answer: SqlAnswer }) {
  const { columns, rows } = answer;
  const numbers = columns.filter(({ type }) => /INT|DOUBLE|DECIMAL|FLOAT/.test(type)).map(({ name }) => name);
  const names = columns.map(({ name }) => name);
  const [chosenValue, setValue] = useState<string>();
  const [chosenName, setName] = useState<string>();
  const value = chosenValue !== undefined && numbers.includes(chosenValue) ? chosenValue : (numbers[0] ?? "");
  const name =
    chosenName !== undefined && names.includes(chosenName)
      ? chosenName
      : (names.find((one) => !numbers.includes(one)) ?? names[0] ?? "");
  const [box, width] = useSize(400);
  const shown = rows.slice(0, MOST);
  const amounts = shown.map((row) => Number(row[value] ?? 0));
  const isWhole = amounts.every(Number.isInteger);
  const x = scaleLinear([0, Math.max(1, ...amounts)], [NAME, Math.max(NAME + 60, width - 70)]).nice(4);
  // If all values are whole numbers, the axis has no marks between whole numbers.
  const ticks = x.ticks(4).filter((tick) => !isWhole || Number.isInteger(tick));
  return (
    <figure className="resfig scroll" ref={box}>
      <div className="resfig-h">
        <span className="lbl">Bars of</span>
        <select
          className="select bare"
          aria-label="What the bars show"
          value={value}
          onChange={(event) => setValue(event.target.value)}
        >
          {numbers.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <span className="lbl">by</span>
        <select
          className="select bare"
          aria-label="What names the bars"
          value={name}
          onChange={(event) => setName(event.target.value)}
        >
          {names.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </div>
      <svg
        className="chart block"
        width={width}
        height={shown.length * ROW + 24}
        role="img"
        aria-label={`${value} by ${name}, ${shown.length} bars; the table has the same figures`}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line className="grid" x1={x(tick)} x2={x(tick)} y1="0" y2={shown.length * ROW} />
            <text x={x(tick)} y={shown.length * ROW + 16} textAnchor="middle">
              {tick.toLocaleString("en-US", { maximumFractionDigits: 3 })}
            </text>
          </g>
        ))}
        {shown.map((row, at) => {
          const label = row[name];
          const text = visibleLine(typeof label === "string" ? label : JSON.stringify(label ?? "")).slice(0, 18);
          return (
            <g key={at}>
              <text x={NAME - 8} y={at * ROW + 17} textAnchor="end">
                {text}
              </text>
              <rect
                className="f-c-1"
                x={NAME}
                y={at * ROW + 4}
                width={Math.max(1, x(amounts[at] ?? 0) - NAME)}
                height={ROW - 9}
                rx="2"
              />
              <text x={x(amounts[at] ?? 0) + 6} y={at * ROW + 17}>
                {grouped(amounts[at] ?? 0, Number.isInteger(amounts[at]) ? 0 : 1)}
              </text>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
