export { createAgent } from "./agent.ts";
export type { Agent, AgentOptions, Answer, RunOptions, WatchOptions } from "./agent-interface.ts";
export type { EventListeners } from "./event-listeners.ts";
export { openStore } from "./open-store.ts";
export type { AgentLog, AgentResult, GeneratedFile } from "./agent-result.ts";
export type { PartialDraft, Partially } from "./partial-output.ts";
export type { SkeinConfig } from "./serve/config-file.ts";
export { type ServerOptions, createServer } from "./serve/create-server.ts";
export type { RunningServer } from "./serve/start-options.ts";
export { connectMcpServer, s3Files, standardTools } from "./tools.ts";
export type { S3FileStoreOptions } from "@skein/adapters/files/s3";
export type { McpConnection, McpServerOptions } from "@skein/adapters/mcp";
export type { StandardToolsOptions } from "@skein/adapters/tools";
export {
  type Answered,
  type FileStore,
  type AgentMemory,
  type HookContext,
  type HookedCall,
  type Hooks,
  type SessionState,
  type Sessions,
  type Store,
  type Tool,
  type ToolResult,
  type ToolContext,
  type ToolOptions,
  type Validate,
  defineTool,
} from "@skein/core";
export {
  type Format,
  type Await,
  type Content,
  type ContentBlock,
  type CostBreakdown,
  type Draft,
  type Event,
  type Failure,
  KnownError,
  type Message,
  type StopReason,
  type UsageTotals,
  isKnownError,
} from "@skein/protocol";
