export { type McpConnection, type McpServerOptions, connectMcpServer } from "./connect.ts";
