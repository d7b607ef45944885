/** Times and amounts in a form that is easy to read. */

/** Formats a local time, such as `2026-11-01 10:00`. */
export function shortTime(date: Date): string {
  if (Number.isNaN(date.getTime())) return "unknown";
  return `${shortDate(date)} ${clock(date)}`;
}

/** Shortens a time to at most 11 columns: `11-01 10:00` in this year, only the date in another year. */
export function shorterTime(now: Date): (date: Date) => string {
  return (date) =>
    date.getFullYear() === now.getFullYear() ? shortTime(date).slice(5) : shortTime(date).slice(0, 10).trimEnd();
}

/** Formats a time like `shortTime`, with seconds. */
export function longTime(date: Date): string {
  return `${shortTime(date)}:${String(date.getSeconds()).padStart(2, "0")}`;
}

export function shortDate(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export function clock(date: Date): string {
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a duration without seconds, such as "45 min" or "2 h 5 min". */
export function hours(minutes: number): string {
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kilo = bytes / 1024;
  if (kilo < 1024) return `${kilo.toFixed(kilo < 10 ? 1 : 0)} kB`;
  const mega = kilo / 1024;
  return mega < 1024 ? `${mega.toFixed(mega < 10 ? 1 : 0)} MB` : `${(mega / 1024).toFixed(1)} GB`;
}
