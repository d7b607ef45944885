import type { Event } from "./event.ts";

/** When the event happened. Only facts of an adopted or imported session were written later. Without zod, for browsers. */
export function timeOf({ data, created_at }: Event): string {
  return ("happened_at" in data && data.happened_at) || created_at;
}
