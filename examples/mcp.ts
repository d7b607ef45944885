/**
 * The tools of an MCP server, which the agent starts and calls over stdio. This file is both the agent and the server.
 */
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { connectMcpServer, createAgent } from "skein";
import { z } from "zod";

if (process.argv[2] === "serve") {
  const server = new McpServer({ name: "clock", version: "1" });
  const inputSchema = z.object({ city: z.string() });
  server.registerTool("time", { description: "The time in a city.", inputSchema }, ({ city }) => ({
    content: [{ type: "text", text: `It is noon in ${city}.` }],
  }));
  await server.connect(new StdioServerTransport());
} else {
  const clock = await connectMcpServer({
    name: "clock",
    command: process.execPath,
    args: [...process.execArgv, import.meta.filename, "serve"],
  });
  const agent = createAgent({ name: "Butler", tools: clock.tools });
  const { finalAnswer } = await agent.run('Call mcp__clock__time with the city "Lisbon".');
  console.log(clock.tools.map(({ name }) => name));
  console.log(finalAnswer);
  await agent.close();
  await clock.close();
}
