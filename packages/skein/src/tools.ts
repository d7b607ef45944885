import type { S3FileStoreOptions } from "@skein/adapters/files/s3";
import type { McpConnection, McpServerOptions } from "@skein/adapters/mcp";
import type { StandardToolsOptions } from "@skein/adapters/tools";
import type { FileStore, Tool } from "@skein/core";
import { loadPart } from "./optional-parts.ts";

// The code of these tools is loaded on first use, so that an agent without them starts faster.

/**
 * Returns the tools Bash, Read, Write, Edit, Glob, Grep, WebFetch, TodoWrite and AskUserQuestion. The tools work in one
 * folder. On a server, they work in a folder for each session.
 */
export async function standardTools(options: StandardToolsOptions = {}): Promise<readonly Tool[]> {
  const { createAskUserQuestion, createStandardTools } = await import("@skein/adapters/tools");
  return [...createStandardTools(options), createAskUserQuestion()];
}

/** Connects to an MCP server, by a command or a URL. Close the connection when the agent is closed. */
export async function connectMcpServer(options: McpServerOptions): Promise<McpConnection> {
  const mcp = await loadPart.mcp();
  return mcp.connectMcpServer(options);
}

/** Opens a bucket for the files that agents make. Example: `createAgent({ files: await s3Files({ … }) })`. */
export async function s3Files(options: S3FileStoreOptions): Promise<FileStore> {
  const { createS3FileStore } = await import("@skein/adapters/files/s3");
  return createS3FileStore(options);
}
