export { type McpEdge, openMcpEdge } from "./edge.ts";
export type { McpPlace } from "./transport.ts";
export { type McpConnection, type McpServerOptions, connectMcpServer } from "./connect.ts";
