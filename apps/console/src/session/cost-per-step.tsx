import { scaleLinear } from "d3-scale";
import { money, plural, smallMoney } from "../ui/amounts.ts";
import { type SessionView, stepLabel, stepName } from "./view.ts";

const WIDTH = 340;
const HEIGHT = 84;
/** The margin for the amounts at the right, and the margin for the numbers below. */
const RIGHT = 62;
const BELOW = 16;
const MOST = 40;

/** A bar for each of the last forty steps that have a cost. */
export function CostPerStep({ view }: { view: SessionView }) {
  const priced = view.steps.filter(({ cost }) => cost !== null).slice(-MOST);
  if (priced.length === 0) return <p className="lbl">Nothing was spent yet.</p>;
  if (priced.every(({ cost }) => (cost?.total_micros ?? 0) === 0)) return <p className="lbl">No step cost anything.</p>;
  const most = Math.max(...priced.map(({ cost }) => cost?.total_micros ?? 0), 1);
  const y = scaleLinear([0, most], [HEIGHT - BELOW, 6]).nice(2);
  const width = (WIDTH - RIGHT) / priced.length;
  const label = `Cost of ${plural(priced.length, "step")}, at most ${money(most)}`;
  return (
    <svg className="chart block" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {y.ticks(2).map((tick) => (
        <g key={tick}>
          <line className="grid" x1="0" x2={WIDTH - RIGHT} y1={y(tick)} y2={y(tick)} />
          <text x={WIDTH - RIGHT + 6} y={y(tick) + 4}>
            {most < 2000 ? smallMoney(tick) : money(tick)}
          </text>
        </g>
      ))}
      {priced.map((step, at) => {
        const top = y(step.cost?.total_micros ?? 0);
        return (
          <g key={step.key}>
            <rect
              className="f-c-1"
              x={at * width + width * 0.15}
              width={Math.max(1, Math.min(width * 0.7, 22))}
              y={top}
              height={Math.max(1, HEIGHT - BELOW - top)}
              rx="2"
            >
              <title>{`${stepName(step)}: ${money(step.cost?.total_micros ?? 0)}`}</title>
            </rect>
            {priced.length <= 14 && (
              <text x={at * width + width * 0.15 + Math.min(width * 0.7, 22) / 2} y={HEIGHT - 3} textAnchor="middle">
                {stepLabel(step)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}
