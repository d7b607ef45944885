/**
 * Returns a function that gives the day of a time in a time zone. It calls `Intl`, which is slow, only once for each
 * quarter of an hour.
 */
export function createDayOf(timeZone: string): (time: number) => string {
  const calendar = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  const known = new Map<number, string>();
  // The offsets of some time zones include a quarter of an hour.
  const step = 15 * 60_000;
  return (time) => {
    const at = Math.floor(time / step);
    const day = known.get(at);
    if (day !== undefined) return day;
    const found = calendar.format(at * step);
    known.set(at, found);
    return found;
  };
}

/** Returns a function that gives the Monday of a day's week. */
export function createMondayOf(): (day: string) => string {
  const known = new Map<string, string>();
  return (day) => {
    const monday = known.get(day) ?? mondayOf(day);
    known.set(day, monday);
    return monday;
  };
}

function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
}

export function localTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
