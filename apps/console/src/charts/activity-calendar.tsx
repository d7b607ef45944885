import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/context.tsx";
import { serverNow } from "../api/server-clock.ts";
import { plural } from "../ui/amounts.ts";
import { READER_ZONE, dayKey, dayStart } from "../ui/local-days.ts";
import { longDay } from "../ui/times.ts";

const WEEKS = 22;
const CELL = 14.5;
const LEFT = 28;
const TOP = 18;

/** Shows the runs of each day in the last weeks. A column is a week from Monday to Sunday. */
export function ActivityCalendar() {
  const api = useApi();
  const first = firstMonday(serverNow());
  const usage = useQuery({
    queryKey: ["usage", "calendar", first.toISOString()],
    queryFn: () => api.usage({ group_by: "day", from: first.toISOString(), time_zone: READER_ZONE }),
    staleTime: 60_000,
  });
  const runs = new Map((usage.data ?? []).map((row) => [row.key, row.runs]));
  const most = Math.max(1, ...runs.values());
  const today = dayKey(new Date(serverNow()));
  const days = Array.from({ length: WEEKS * 7 }, (_, at) => dayStart(first, at)).filter((day) => dayKey(day) <= today);
  const all = [...runs.values()].reduce((sum, one) => sum + one, 0);
  return (
    <>
      <div className="h">
        <h2>Activity</h2>
        <span className="end">
          {plural(all, "run")} in {WEEKS} weeks
        </span>
      </div>
      {all === 0 && <p className="lbl">Nothing ran in these weeks. Each day with runs gets its colour here.</p>}
      <svg
        className={all === 0 ? "gone" : "chart cal"}
        viewBox={`0 0 ${LEFT + WEEKS * CELL} ${TOP + 7 * CELL + 2}`}
        role="img"
        aria-label={`${plural(all, "run")} in the last ${WEEKS} weeks, at most ${most} on a day`}
      >
        {["Mon", "Wed", "Fri"].map((name, at) => (
          <text key={name} x="0" y={TOP + at * 2 * CELL + 10}>
            {name}
          </text>
        ))}
        {months(first).map(({ week, name }) => (
          <text key={week} x={LEFT + week * CELL} y="10">
            {name}
          </text>
        ))}
        {days.map((day, at) => {
          const count = runs.get(dayKey(day)) ?? 0;
          return (
            <rect
              key={dayKey(day)}
              className={`heat-${levelOf(count, most)} ${dayKey(day) === today ? "today" : ""}`}
              x={LEFT + Math.floor(at / 7) * CELL}
              y={TOP + (at % 7) * CELL}
              width={CELL - 2.5}
              height={CELL - 2.5}
              rx="2"
            >
              <title>{`${longDay(day)}: ${plural(count, "run")}`}</title>
            </rect>
          );
        })}
      </svg>
      <p className={all === 0 ? "gone" : "lbl cal-legend"}>
        Fewer
        {[0, 1, 2, 3, 4].map((level) => (
          <i key={level} className={`dot bg-heat-${level}`} />
        ))}
        More
      </p>
    </>
  );
}

function firstMonday(now: number): Date {
  const sinceMonday = (new Date(now).getDay() + 6) % 7;
  return dayStart(now, -sinceMonday - (WEEKS - 1) * 7);
}

function months(first: Date): readonly { week: number; name: string }[] {
  const found: { week: number; name: string }[] = [];
  for (let week = 0; week < WEEKS; week++) {
    const name = dayStart(first, week * 7).toLocaleString("en-GB", { month: "short" });
    if (name !== found.at(-1)?.name && (found.length === 0 || week - (found.at(-1)?.week ?? 0) > 1))
      found.push({ week, name });
  }
  return found;
}

function levelOf(count: number, most: number): number {
  return count === 0 ? 0 : Math.min(4, Math.max(1, Math.ceil((count / most) * 4)));
}
