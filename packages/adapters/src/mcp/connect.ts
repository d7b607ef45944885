import { Client, type Tool as McpTool } from "@modelcontextprotocol/client";
import type { Tool, ToolContext } from "@skein/core";
import { type JsonObject, KnownError } from "@skein/protocol";
import { toolOutput } from "./result.ts";
import { type Taken, asTool, hashOf, takeTools } from "./tools.ts";
import type { OpenTransport } from "./sandboxed-transport.ts";
import { type McpPlace, openTransport } from "./transport.ts";

export interface McpServerOptions extends McpPlace {
  /** The server's tools are called `mcp__{name}__{tool}`. */
  readonly name: string;
  readonly connectTimeoutMs?: number;
  /** The time limit for a call of a tool. */
  readonly callTimeoutMs?: number;
  /** The largest number of tools. The definitions of all tools are sent to the model with every model call. */
  readonly maxTools?: number;
  /** Receives texts for people. Examples: a server has too many tools, a server died, a tool changed. */
  readonly onNotice?: (notice: string) => void;
}

export interface McpConnection {
  readonly name: string;
  readonly tools: readonly Tool[];
  /** The notices so far. */
  readonly notices: readonly string[];
  /** Ends the connection. If the connection started the server, this also ends the server. */
  close(): Promise<void>;
}

const NAME = /^[a-zA-Z0-9_-]{1,40}$/;

interface Session {
  readonly client: Client;
  readonly opened: OpenTransport;
}

/**
 * Connects to an MCP server and returns its tools. Throws if the server cannot be reached.
 *
 * Later, a tool call that fails becomes an error result for the model. If the server died, the next tool call starts it
 * again.
 */
export async function connectMcpServer(options: McpServerOptions): Promise<McpConnection> {
  const { name, connectTimeoutMs = 15_000, callTimeoutMs = 60_000, maxTools = 100 } = options;
  if (!NAME.test(name))
    throw new KnownError(
      "invalid",
      `"${name}" is not a valid name of an MCP server. Expected 1 to 40 letters, digits, _ or -.`,
    );
  const notices: string[] = [];
  const notice = (text: string): void => {
    notices.push(text);
    options.onNotice?.(text);
  };
  let closed = false;
  let current: Promise<Session> | undefined;
  let taken: Taken | undefined;
  /** Tools whose definition changed after the connection was made. */
  const changed = new Set<string>();

  /** Returns the open connection, or opens a connection. */
  function session(): Promise<Session> {
    if (current) return current;
    const own: Promise<Session> = begin(() => {
      // An old connection that closes late must not remove the new connection.
      if (current === own) current = undefined;
    });
    current = own;
    return own;
  }

  async function begin(forget: () => void): Promise<Session> {
    const opened = await openTransport(name, options, forget).catch((error: unknown) => {
      forget();
      throw error;
    });
    const client = new Client(
      { name: "skein", version: "0" },
      { listChanged: { tools: { autoRefresh: false, onChanged: () => void refresh().catch(ignore) } } },
    );
    let connected = false;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client's own hook; it is no event target
    client.onclose = () => {
      if (!connected) return;
      if (!closed) notice(`The connection to the MCP server "${name}" broke. ${opened.complaint()}`.trim());
      forget();
    };
    try {
      await client.connect(opened.transport, { timeout: connectTimeoutMs });
      compare(await listAll(client, maxTools, connectTimeoutMs));
      connected = true;
      return { client, opened };
    } catch (error) {
      forget();
      await end({ client, opened });
      throw new Error(`The MCP server "${name}" cannot be used: ${sentence(error)} ${opened.complaint()}`.trim(), {
        cause: error,
      });
    }
  }

  /** Compares a list of tools with the first list. The operator approved the first list by naming the server. */
  function compare(listed: readonly McpTool[]): void {
    if (!taken) {
      taken = takeTools(name, listed, maxTools);
      taken.notices.forEach(notice);
      return;
    }
    const now = new Map(listed.map((tool) => [tool.name, hashOf(tool)]));
    for (const [tool, { hash }] of taken.tools) {
      if (now.get(tool) === hash || changed.has(tool)) continue;
      changed.add(tool);
      notice(
        `The tool "${tool}" of the MCP server "${name}" has changed since it was approved, and is not used any more.`,
      );
    }
  }

  async function refresh(): Promise<void> {
    const { client } = await session();
    compare(await listAll(client, maxTools, connectTimeoutMs));
  }

  async function call(tool: string, input: JsonObject, { signal }: ToolContext): Promise<unknown> {
    if (closed) throw new Error(`The connection to the MCP server "${name}" is closed.`);
    const { client } = await session();
    if (changed.has(tool))
      throw new Error(`The tool "${tool}" has changed since it was approved. Somebody must approve it again.`);
    const request = client.callTool({ name: tool, arguments: input }, { signal, timeout: callTimeoutMs });
    const result = await request.catch((error: unknown) => {
      throw new Error(`The MCP server "${name}" did not answer: ${sentence(error)}`, { cause: error });
    });
    return toolOutput(result);
  }

  await session();
  const tools = [...(taken as unknown as Taken).tools].map(([tool, entry]) =>
    asTool(entry, (input, context) => call(tool, input, context), notices),
  );
  return {
    name,
    tools,
    notices,
    async close() {
      closed = true;
      const last = await current?.catch(() => undefined);
      if (last) await end(last);
    },
  };
}

async function end({ client, opened }: Session): Promise<void> {
  await client.close().catch(ignore);
  await opened.gone();
}

/** Lists the tools page by page. Stops after `most` tools, because a server may have endless pages. */
async function listAll(client: Client, most: number, timeout: number): Promise<readonly McpTool[]> {
  if (!client.getServerCapabilities()?.tools) return [];
  const tools: McpTool[] = [];
  let cursor: string | undefined = "";
  while (cursor !== undefined && tools.length <= most) {
    // `listTools` without a cursor would collect all pages, so the request is sent directly.
    const page: Awaited<ReturnType<Client["listTools"]>> = await client.request(
      { method: "tools/list", params: cursor === "" ? {} : { cursor } },
      { timeout },
    );
    tools.push(...page.tools);
    cursor = page.nextCursor === cursor ? undefined : page.nextCursor;
  }
  return tools;
}

/** Returns the error as a sentence, with its status or code. */
function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 500);
  const { data, cause } = error as { data?: { status?: unknown }; cause?: { code?: unknown } };
  const detail = typeof data?.status === "number" ? `status ${data.status}` : cause?.code;
  const message = error.message.slice(0, 500).replace(/[\s:.]+$/, "");
  return typeof detail === "string" && !message.includes(detail) ? `${message} (${detail}).` : `${message}.`;
}

function ignore(): void {}
