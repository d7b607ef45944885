export type { Adoption } from "./claude/adopt.ts";
export type { ClaudeGate } from "./claude/gate.ts";
export type { ServerDeps } from "./deps.ts";
export { type KeyInfo, KeyScope, type Keys, TenantName, createKeys } from "./keys.ts";
export { DEFAULT_LIMITS, type Limits } from "./limits.ts";
export { type Server, createServer } from "./server.ts";
export type { WebhookSender } from "./webhook-deliveries.ts";
