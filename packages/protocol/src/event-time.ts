import type { Event } from "./event.ts";

/**
 * Returns the time at which the event happened. In adopted and imported sessions this time is before `created_at`. This
 * file does not need zod, so that browsers can load it.
 */
export function timeOf({ data, created_at }: Event): string {
  return ("happened_at" in data && data.happened_at) || created_at;
}
