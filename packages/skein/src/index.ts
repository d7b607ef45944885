export { type Agent, type AgentOptions, type Answer, type RunOptions, createAgent } from "./agent.ts";
export { main } from "./main.ts";
export { openStore } from "./open-store.ts";
export type { AgentLog, AgentResult } from "./result.ts";
export { connectMcpServer, standardTools } from "./tools.ts";
export { type Tool, type ToolContext, defineTool } from "@skein/core";
export { KnownError, isKnownError } from "@skein/protocol";
