/** Days of the reader: they begin at midnight where the browser is, and some have 23 or 25 hours. */

/** The name of the reader's time zone, for what the server adds up by day. */
export const READER_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The midnight with which a day begins, so many days after the day of a moment. */
export function dayStart(at: Date | number, after = 0): Date {
  const day = new Date(at);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + after);
}

/** A day as servers name it: `2026-11-18`. */
export function dayKey(day: Date): string {
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}
