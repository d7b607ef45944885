import { scaleBand, scaleLinear } from "d3-scale";
import { useState } from "react";
import { visibleLine } from "../text/safe-text.ts";
import { useSize } from "../ui/use-size.ts";

/** One bar. Its parts are stacked in the order of the series. */
export interface Bar {
  readonly key: string;
  readonly label: string;
  /** The label below the bar; empty for most bars. */
  readonly tick: string;
  readonly values: readonly number[];
  readonly isUnfinished?: boolean;
}

interface StackedBarsProps {
  readonly bars: readonly Bar[];
  readonly series: readonly string[];
  readonly format: (value: number) => string;
  readonly height?: number;
  readonly label: string;
}

const RIGHT = 56;
const BELOW = 22;

/**
 * Stacked bars over time. If every bar is empty, nothing is shown. Hovering over a bar shows its figures. A hidden table
 * has the figures of all bars for screen readers.
 */
export function StackedBars({ bars, series, format, height = 220, label }: StackedBarsProps) {
  const [box, width] = useSize(800);
  const [over, setOver] = useState<number>();
  const totals = bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0));
  const x = scaleBand(
    bars.map(({ key }) => key),
    [0, Math.max(100, width - RIGHT)],
  )
    .paddingInner(0.32)
    .paddingOuter(0.2);
  const y = scaleLinear([0, Math.max(1, ...totals)], [height - BELOW, 8]).nice(4);
  const bar = over === undefined ? undefined : bars[over];
  if (totals.every((total) => total === 0)) return null;
  return (
    <div className="bars-box" ref={box} onPointerLeave={() => setOver(undefined)}>
      <svg className="chart block" width={width} height={height} role="img" aria-label={label}>
        {y.ticks(4).map((tick) => (
          <g key={tick}>
            <line className="grid" x1="0" x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
            <text x={width - RIGHT + 8} y={y(tick) + 4}>
              {format(tick)}
            </text>
          </g>
        ))}
        {bars.map((one, at) => {
          let base = 0;
          const left = x(one.key) ?? 0;
          return (
            <g key={one.key} className={one.isUnfinished ? "unfinished" : ""} onPointerEnter={() => setOver(at)}>
              <rect
                x={left - (x.step() - x.bandwidth()) / 2}
                width={x.step()}
                y="0"
                height={height - BELOW}
                className="hit"
              />
              {one.values.map((value, index) => {
                const from = y(base);
                base += value;
                const to = y(base);
                return value === 0 ? null : (
                  <rect
                    key={index}
                    className={`f-c-${Math.min(5, index + 1)}`}
                    x={left}
                    width={Math.min(x.bandwidth(), 28)}
                    y={to}
                    height={Math.max(1, from - to - (index > 0 ? 1 : 0))}
                    rx="1.5"
                  />
                );
              })}
              {one.tick !== "" && (
                <text x={left + Math.min(x.bandwidth(), 28) / 2} y={height - 5} textAnchor="middle">
                  {one.tick}
                </text>
              )}
            </g>
          );
        })}
        <line className="axis" x1="0" x2={width - RIGHT} y1={height - BELOW} y2={height - BELOW} />
      </svg>
      {bar && over !== undefined && (
        <div className="bars-tip" style={{ left: `${Math.min(Math.max(0, (x(bar.key) ?? 0) - 90), width - 220)}px` }}>
          <div className="bars-tip-h">
            <b>{bar.label}</b>
            <b className="num">{format(totals[over] ?? 0)}</b>
          </div>
          {series.map((name, index) => (
            <div key={name} className="bars-tip-r">
              <span className={`dot bg-c-${Math.min(5, index + 1)}`} />
              <span className="cut grow">{visibleLine(name)}</span>
              <span className="num">{format(bar.values[index] ?? 0)}</span>
            </div>
          ))}
        </div>
      )}
      <table className="sr">
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            {series.map((name) => (
              <th key={name} scope="col">
                {visibleLine(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars.map((one) => (
            <tr key={one.key}>
              <th scope="row">{one.label}</th>
              {one.values.map((value, index) => (
                <td key={index}>{format(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
