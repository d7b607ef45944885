/**
 * A server in a separate process, so that its memory and processor time can be measured. The process ends when its
 * input closes.
 *
 * For each line of its input, the process prints its memory after a garbage collection, and how long its event loop was
 * blocked.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { SandboxMode } from "@skein/core";
import { defineTool } from "skein";
import fastify from "fastify";
import { z } from "zod";
import { codeOf } from "../../packages/skein/src/serve/config-file.ts";
import { startServer } from "../../packages/skein/src/serve/server.ts";

const [storeUrl = "memory:", dataDir = "", anthropicBaseUrl = "", sandbox] = process.argv.slice(2);
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
  code: codeOf({ tools: [add], ...(sandbox !== undefined && { policy: { sandbox: SandboxMode.parse(sandbox) } }) }),
  limits: { requestsPerSecond: unlimited, requestBurst: unlimited, streams: unlimited, sessionsPerMinute: unlimited },
});

// The lower bound for reads: a server of the same framework sends the same objects from memory, without validation.
const bare = fastify();
let kept: unknown = {};
bare.put("/", (request, reply) => {
  kept = request.body;
  return reply.send({ ok: true });
});
bare.get("/", (_, reply) => reply.send(kept));
const bareUrl = await bare.listen({ port: 0, host: "127.0.0.1" });

console.log(JSON.stringify({ url: server.url, key: server.key.key, bareUrl }));
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const input = createInterface(process.stdin);
input.on("line", () => {
  const stall = delay.max / 1e6;
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo();
  const timers = resources.filter((name) => name === "Timeout").length;
  const sockets = resources.filter((name) => name === "TCPSocketWrap").length;
  console.log(JSON.stringify({ rss: rss / 2 ** 20, heap: heapUsed / 2 ** 20, timers, sockets, stall }));
  delay.reset();
});
input.once("close", () => {
  void Promise.all([server.close(), bare.close()]).then(() => process.exit(0));
});
