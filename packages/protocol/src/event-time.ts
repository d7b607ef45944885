import type { Event } from "./event.ts";

/**
 * When the event happened. `created_at` is later only for facts of adopted or imported sessions. Without zod, so that
 * browsers can load it.
 */
export function timeOf({ data, created_at }: Event): string {
  return ("happened_at" in data && data.happened_at) || created_at;
}
