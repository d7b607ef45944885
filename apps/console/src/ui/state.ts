/**
 * The state of an item, such as a session, a step or a tool call. Each state has its own shape and word, so that colour
 * is never needed to distinguish them.
 */
export type State = "running" | "waiting" | "done" | "failed" | "unknown" | "cancelled" | "queued" | "idle";
