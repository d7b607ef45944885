/** Times in a form that people use, in the reader's time zone. */
import { serverNow } from "../api/server-clock.ts";

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const FULL_DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "full" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const CLOCK_SECONDS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const LONG_DAY = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });

export function clock(at: string | number): string {
  return CLOCK.format(new Date(at));
}

export function clockSeconds(at: string | number): string {
  return CLOCK_SECONDS.format(new Date(at));
}

export function longDay(at: string | number | Date): string {
  return LONG_DAY.format(new Date(at));
}

export function fullDay(at: number): string {
  return FULL_DAY.format(new Date(at));
}

export function shortDay(at: string | number | Date): string {
  return DAY.format(new Date(at));
}

/**
 * Returns the time for a moment of today, the day for another moment of this year, and the date for an older moment.
 */
export function when(at: string | number, now = serverNow()): string {
  const then = new Date(at);
  const today = new Date(now);
  if (sameDay(then, today)) return clock(at);
  return then.getFullYear() === today.getFullYear() ? DAY.format(then) : DAY_YEAR.format(then);
}

/** The time with seconds. If the day is not today, the day comes first. */
export function whenExactly(at: string | number, now = serverNow()): string {
  const seconds = clockSeconds(at);
  return sameDay(new Date(at), new Date(now)) ? seconds : `${when(at, now)}, ${seconds}`;
}

/** The heading under which a list shows a moment: Today, Yesterday, or the day. */
export function dayHeading(at: string | number, now = serverNow()): string {
  const then = new Date(at);
  if (sameDay(then, new Date(now))) return "Today";
  if (sameDay(then, new Date(now - 86_400_000))) return "Yesterday";
  const sameYear = then.getFullYear() === new Date(now).getFullYear();
  return sameYear ? LONG_DAY.format(then) : DAY_YEAR.format(then);
}

/** The full date and time, for tooltips. */
export function fullTime(at: string | number): string {
  return FULL.format(new Date(at));
}

function sameDay(one: Date, other: Date): boolean {
  return one.toDateString() === other.toDateString();
}
