/** A server in a process of its own, so that its memory and its time are its own. Ends when its input does. */
import { defineTool } from "skein";
import fastify from "fastify";
import { z } from "zod";
import { codeOf } from "../../packages/skein/src/serve/config-file.ts";
import { startServer } from "../../packages/skein/src/serve/server.ts";

const [storeUrl = "memory:", dataDir = "", anthropicBaseUrl = ""] = process.argv.slice(2);
const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  policy: "repeatable",
  run: ({ a, b }) => a + b,
});
const unlimited = 1e9;
const server = await startServer({
  port: 0,
  host: "127.0.0.1",
  storeUrl,
  dataDir,
  apiKey: undefined,
  allowedHosts: [],
  allowedOrigins: [],
  allowedWebhookAddresses: [],
  anthropicApiKey: undefined,
  anthropicBaseUrl: anthropicBaseUrl === "" ? undefined : anthropicBaseUrl,
  code: codeOf({ tools: [add] }),
  limits: { requestsPerSecond: unlimited, requestBurst: unlimited, streams: unlimited, sessionsPerMinute: unlimited },
});

// The floor of reads: the same framework, the same objects, from memory and unchecked.
const bare = fastify();
let kept: unknown = {};
bare.put("/", async (request) => ((kept = request.body), { ok: true }));
bare.get("/", async () => kept);
const bareUrl = await bare.listen({ port: 0, host: "127.0.0.1" });

console.log(JSON.stringify({ url: server.url, key: server.key.key, bareUrl }));
process.stdin.resume();
process.stdin.once("end", () => {
  void Promise.all([server.close(), bare.close()]).then(() => process.exit(0));
});
