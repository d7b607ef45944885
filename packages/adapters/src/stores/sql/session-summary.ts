import { SUMMARY_TEXT, type SessionSummary } from "@skein/core";
import type { Await } from "@skein/protocol";

/**
 * How many characters of a message's content are read for the beginning of its text. They suffice even if every
 * character is an escape.
 */
export const CONTENT_BEGINNING = 2000;

/** A summary as the SQL stores read it. */
export interface SummaryRow {
  readonly id: string;
  /** The role, the time and the beginning of the last message, separated by spaces. */
  readonly last: string | null;
  /** The kinds of open awaits, separated by spaces. */
  readonly kinds: string | null;
}

export function summaryOfRow({ id, last, kinds }: SummaryRow): SessionSummary {
  const [, role, time = "", content = ""] = /^(user|assistant) (\S+) (.*)$/s.exec(last ?? "") ?? [];
  return {
    sessionId: id,
    lastMessage:
      role === "user" || role === "assistant" ? { role, text: leadingText(content), created_at: instant(time) } : null,
    openAwaits: (kinds === null ? [] : kinds.split(" ")) as Await["kind"][],
  };
}

/** Returns a time as ISO 8601. The input is ISO 8601 or milliseconds. */
function instant(time: string): string {
  return /^\d+$/.test(time) ? new Date(Number(time)).toISOString() : time;
}

/** Reads the beginning of a text from an incomplete JSON text `{"text":"…`. */
function leadingText(beginning: string): string {
  const [, text = ""] = /^\{"text":"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)/.exec(beginning) ?? [];
  return (JSON.parse(`"${text}"`) as string).slice(0, SUMMARY_TEXT);
}
