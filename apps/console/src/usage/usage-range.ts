import { useMemo } from "react";
import { serverNow } from "../api/server-clock.ts";
import { READER_ZONE, dayStart } from "../ui/local-days.ts";
import { useQueryValue } from "../ui/use-query-value.ts";

/** The ranges of the page: the value in the URL, the label, and the number of days. */
export const RANGES: readonly (readonly [value: string, word: string, days: number])[] = [
  ["1", "Today", 1],
  ["7", "7 days", 7],
  ["30", "30 days", 30],
  ["140", "20 weeks", 140],
  ["365", "1 year", 365],
];

export interface UsageRange {
  readonly from: Date;
  readonly days: number;
  /** The range as parameters of a request. */
  readonly bounds: { readonly from: string; readonly to: string; readonly time_zone: string };
  readonly choose: (value: string) => void;
}

/** Reads the range of days from the URL. The days are in the reader's time zone, and the last day is today. */
export function useUsageRange(): UsageRange {
  const [value, setValue] = useQueryValue("range");
  const days = RANGES.find(([one]) => one === value)?.[2] ?? 30;
  const from = useMemo(() => dayStart(serverNow(), 1 - days), [days]);
  const bounds = useMemo(
    () => ({ from: from.toISOString(), to: dayStart(from, days).toISOString(), time_zone: READER_ZONE }),
    [from, days],
  );
  return { from, days, bounds, choose: (next) => setValue(next === "30" ? null : next) };
}
