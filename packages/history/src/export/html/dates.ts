/** Formats dates and durations. Times are UTC, so every reader of the page sees the same times. */
import type { Message } from "../../model/types.ts";

const day = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC",
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
});
const time = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", hour: "2-digit", minute: "2-digit" });

export function dayText(date: Date): string {
  return day.format(date).replace(",", "");
}

function timeText(date: Date): string {
  return time.format(date);
}

/** Returns an empty text for a line without a time, whose time is a guess. */
export function timeHtml({
  timestamp,
  timestampIsInferred,
}: Pick<Message, "timestamp" | "timestampIsInferred">): string {
  return timestampIsInferred ? "" : `<time datetime="${timestamp.toISOString()}">${timeText(timestamp)}</time>`;
}

/** Formats a span of time, such as "Sun 1 Nov 2026, 10:00 to 10:14 UTC (14 min)". */
export function spanText(from: Date, to: Date): string {
  const isSameDay = dayText(from) === dayText(to);
  const end = isSameDay ? timeText(to) : `${dayText(to)}, ${timeText(to)}`;
  const took = durationText(to.getTime() - from.getTime());
  return `${dayText(from)}, ${timeText(from)} to ${end} UTC${took === "" ? "" : ` (${took})`}`;
}

export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 1) return "";
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.round(hours / 24)} days`;
}
