/**
 * When an event happened; the expression is the same in both databases, and the indexes of types contain it. Only events
 * of adopted and imported sessions have `happened_at`.
 */
export const EVENT_TIME = "coalesce(e.happened_at, e.created_at)";
