export type { Adoption } from "./dialects/claude/adoption.ts";
export type { ClaudeGate } from "./dialects/claude/gate.ts";
export type { RetentionDays, ServerDeps, WallsState } from "./deps.ts";
export type { AdoptTo, HistoryChange, HistoryPort } from "./history-port.ts";
export type { ConsoleFiles } from "./http/console.ts";
export { type KeyInfo, KeyScope, type Keys, type Principal, TenantName, createKeys } from "./keys.ts";
export { DEFAULT_LIMITS, type Limits } from "./http/limits.ts";
export { type Server, createServer } from "./server.ts";
export type { WebhookSender } from "./webhooks/webhook-deliveries.ts";
