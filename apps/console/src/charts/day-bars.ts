import { dayKey, dayStart } from "../ui/local-days.ts";
import { shortDay } from "../ui/times.ts";
import type { Bar } from "./stacked-bars.tsx";

interface DayBarsOptions {
  readonly from: Date;
  readonly days: number;
  /** The values in the bar of a day (`2026-11-16`), in the order of the series. */
  readonly valuesOf: (day: string) => readonly number[];
}

/** A bar for each day, up to today. Days are in the reader's time zone. */
export function dayBars({ from, days, valuesOf }: DayBarsOptions): readonly Bar[] {
  const every = Math.ceil(days / 6);
  return Array.from({ length: days }, (_, at) => {
    const date = dayStart(from, at);
    const day = dayKey(date);
    const isToday = at === days - 1;
    return {
      key: day,
      label: shortDay(date),
      tick: isToday ? "Today" : (days - 1 - at) % every === 0 ? shortDay(date) : "",
      values: valuesOf(day),
      isUnfinished: isToday,
    };
  });
}
