import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

type Call = { readonly id?: number; readonly method: string; readonly params?: Record<string, unknown> };

/** An MCP server over HTTP and SSE with one tool. It records what it receives. */
export async function smallMcp(tool: string, answer: (input: Record<string, unknown>) => string) {
  const headers: Record<string, unknown>[] = [];
  const calls: Record<string, unknown>[] = [];
  let stream: ServerResponse | undefined;

  function respond({ id, method, params = {} }: Call): string | undefined {
    if (id === undefined) return undefined;
    if (method === "tools/call") calls.push(params["arguments"] as Record<string, unknown>);
    const results: Record<string, () => unknown> = {
      initialize: () => ({
        protocolVersion: params["protocolVersion"],
        capabilities: { tools: {} },
        serverInfo: { name: "small", version: "1" },
      }),
      "tools/list": () => ({ tools: [{ name: tool, description: "A tool.", inputSchema: { type: "object" } }] }),
      "tools/call": () => ({
        content: [{ type: "text", text: answer(params["arguments"] as Record<string, unknown>) }],
      }),
    };
    return JSON.stringify({ jsonrpc: "2.0", id, result: results[method]?.() ?? {} });
  }

  const server = createServer((request, response) => {
    headers.push(request.headers);
    if (request.method === "GET" && request.url === "/sse") {
      stream = response.writeHead(200, { "content-type": "text/event-stream" });
      stream.write("event: endpoint\ndata: /message\n\n");
      return;
    }
    if (request.method !== "POST") return void response.writeHead(405).end();
    let text = "";
    request.on("data", (chunk: Buffer) => void (text += chunk.toString()));
    request.on("end", () => {
      const result = respond(JSON.parse(text) as Call);
      if (request.url === "/message") {
        response.writeHead(202).end();
        if (result !== undefined) stream?.write(`event: message\ndata: ${result}\n\n`);
      } else if (result === undefined) response.writeHead(202).end();
      else response.writeHead(200, { "content-type": "application/json" }).end(result);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { http: `${url}/mcp`, sse: `${url}/sse`, headers, calls };
}
