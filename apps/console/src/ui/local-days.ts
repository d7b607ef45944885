/** Days in the reader's time zone: they begin at midnight where the browser is, and some have 23 or 25 hours. */

/** The name of the reader's time zone, for sums per day that the server computes. */
export const READER_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns the midnight at which a day begins. This day is `after` days after the day of `at`. */
export function dayStart(at: Date | number, after = 0): Date {
  const day = new Date(at);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + after);
}

/** A day in the format of the server: `2026-11-18`. */
export function dayKey(day: Date): string {
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}
