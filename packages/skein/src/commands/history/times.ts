/** Points in time as people type them, and as they like to read them. */

const units: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/**
 * `2026-11-01`, `2026-11-01T10:00`, `7d` (ago), `today`, `yesterday`. A date means its whole day: for the end of a span
 * its midnight after. Undefined if the text is none of these.
 */
export function parseTime(text: string, edge: "start" | "end", now: Date = new Date()): Date | undefined {
  const ago = /^(\d+)([mhdw])$/.exec(text);
  if (ago) return new Date(now.getTime() - Number(ago[1]) * (units[ago[2] ?? ""] ?? 0));
  if (text === "now") return now;
  const day = dayOf(text, now);
  if (day) {
    if (edge === "end") day.setDate(day.getDate() + 1);
    return day;
  }
  if (!/^\d{4}-\d{2}-\d{2}[T ]/.test(text)) return undefined;
  const time = new Date(text.replace(" ", "T"));
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function dayOf(text: string, now: Date): Date | undefined {
  if (text === "today" || text === "yesterday") {
    const shift = text === "today" ? 0 : 1;
    return new Date(now.getFullYear(), now.getMonth(), now.getDate() - shift);
  }
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  return date.getMonth() === Number(month) - 1 && date.getDate() === Number(day) ? date : undefined;
}

/** `2026-11-01 10:00`, in the time of this machine. */
export function shortTime(date: Date): string {
  if (Number.isNaN(date.getTime())) return "unknown";
  return `${shortDate(date)} ${clock(date)}`;
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

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kilo = bytes / 1024;
  if (kilo < 1024) return `${kilo.toFixed(kilo < 10 ? 1 : 0)} kB`;
  const mega = kilo / 1024;
  return mega < 1024 ? `${mega.toFixed(mega < 10 ? 1 : 0)} MB` : `${(mega / 1024).toFixed(1)} GB`;
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
