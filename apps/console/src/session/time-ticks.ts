const MILLISECOND = 1;
const SECOND = 1000 * MILLISECOND;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Round intervals for the marks of a time axis, in milliseconds. */
const STEPS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((count) => count * MILLISECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((count) => count * DAY),
];
const MOST = 7;

export interface TimeTick {
  readonly at: number;
  readonly label: string;
}

/** The marks of a time axis between two moments, in milliseconds. No two marks have the same label. */
export function timeTicks(from: number, to: number): readonly TimeTick[] {
  const step = STEPS.find((one) => (to - from) / one <= MOST) ?? STEPS.at(-1)!;
  const first = Math.ceil(from / step);
  const count = Math.floor(to / step) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, index) => {
    const at = (first + index) * step;
    return { at, label: to < SECOND && at > 0 ? `${at} ms` : timeLabel(at) };
  });
}

function timeLabel(ms: number): string {
  if (ms < MINUTE) return ms === 0 ? "0" : `${ms / SECOND} s`;
  const parts: readonly (readonly [count: number, unit: string])[] = [
    [Math.floor(ms / DAY), "d"],
    [Math.floor((ms % DAY) / HOUR), "h"],
    [Math.floor((ms % HOUR) / MINUTE), "min"],
    [(ms % MINUTE) / SECOND, "s"],
  ];
  return parts.flatMap(([count, unit]) => (count === 0 ? [] : [`${count} ${unit}`])).join(" ");
}
