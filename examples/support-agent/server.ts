/**
 * The page of the shop: `node server.ts [PORT] [FOLDER]`. Customers ask their questions on this page, and staff approve
 * refunds on it.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { join } from "node:path";
import { openStore } from "skein";
import { z } from "zod";
import { createSupportAgent } from "./agent.ts";

const [port = "8080", folder = "support-data"] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const store = await openStore(`sqlite:${folder}/skein.db`);
const agent = createSupportAgent(store, folder);
const page = readFileSync(join(import.meta.dirname, "page.html"), "utf8");

const Ask = z.object({ text: z.string().min(1).max(2000), sessionId: z.string().optional() });
const Read = z.object({ sessionId: z.string() });
const Decide = z.object({ sessionId: z.string(), toolUseId: z.string(), isAllowed: z.boolean() });

const routes: Record<string, (body: unknown) => Promise<unknown>> = {
  "GET /waiting": async () => (await store.openAwaits({ tenant: "default", kinds: ["approval"] })).items,
  // The conversation so far, which the page shows after a reload.
  "POST /conversation": async (body) => {
    const { sessionId } = Read.parse(body);
    const { items } = await (await agent.sessions()).messages(sessionId, { limit: 100 });
    return items.flatMap(({ role, content: { text } }) =>
      (role === "user" || role === "assistant") && typeof text === "string" ? [{ role, text }] : [],
    );
  },
  "POST /ask": async (body) => {
    const { text, sessionId } = Ask.parse(body);
    const { finalAnswer, awaiting, ...result } = await agent.run(text, sessionId === undefined ? {} : { sessionId });
    const answer = awaiting.length > 0 ? "A colleague looks at this. Please wait." : finalAnswer;
    return { sessionId: result.sessionId, answer };
  },
  "POST /decide": async (body) => {
    const { sessionId, toolUseId, isAllowed } = Decide.parse(body);
    const content = isAllowed ? "allow" : "The shop does not pay this back.";
    const { finalAnswer } = await agent.answer(sessionId, [{ toolUseId, content, isError: !isAllowed }]);
    return { answer: finalAnswer };
  },
};

const server = createServer((request, response) => void answer(request, response));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = routes[`${request.method} ${request.url}`];
  if (request.url === "/") {
    response.setHeader("content-type", "text/html").end(page);
    return;
  }
  if (!route) {
    response.writeHead(404).end();
    return;
  }
  response.setHeader("content-type", "application/json");
  try {
    response.end(JSON.stringify(await route(await bodyOf(request))));
  } catch (error) {
    response.writeHead(400).end(JSON.stringify({ error: error instanceof Error ? error.message : "failed" }));
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const text = await new Response(request).text();
  return text === "" ? undefined : (JSON.parse(text) as unknown);
}

server.once("error", (error) => {
  console.error(`The page cannot be served: ${error.message}. Usage: node server.ts [PORT] [FOLDER]`);
  process.exit(1);
});
// The server listens on this machine only. Put your own login in front of it before others can reach it.
server.listen(Number(port), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}/`),
);
