const units: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/**
 * Reads a text such as `2026-11-01`, `2026-11-01T10:00`, `7d` (7 days ago), `now`, `today` or `yesterday`. If `edge` is
 * `end`, a day (a date, `today` or `yesterday`) means the midnight at which it ends. Returns undefined if the text has
 * none of these forms.
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
