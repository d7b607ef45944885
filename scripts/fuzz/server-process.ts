/**
 * A real server in a separate process for load tests, with high limits.
 *
 * Its argument is a task as JSON. The process prints its address and keys, and ends when its input closes.
 */
import { defineTool, openStore } from "skein";
import { createKeys } from "@skein/server";
import { z } from "zod";
import { codeOf } from "../../packages/skein/src/serve/config-file.ts";
import { readConfig } from "../../packages/skein/src/config.ts";
import { startServer } from "../../packages/skein/src/serve/server.ts";
import { serveSettings } from "../../packages/skein/src/serve/settings.ts";
import type { ServedKeys, ServingTask } from "./start-server.ts";

const { storeUrl, dataDir, modelUrl } = JSON.parse(process.argv[2] ?? "{}") as ServingTask;

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  policy: "repeatable",
  run: ({ a, b }) => a + b,
});

const keys = await makeKeys();
// Takes the model from the task. The user's environment has no effect.
const settings = serveSettings(
  { port: "0", host: "127.0.0.1", store: storeUrl, data: dataDir },
  readConfig({
    // Webhooks go to the "discard" port of this machine, where nobody listens.
    SKEIN_ALLOWED_WEBHOOK_ADDRESSES: "127.0.0.1",
    // Claude Code is off, because thousands of queries would start thousands of processes.
    SKEIN_CLAUDE_CODE: "off",
    ...(modelUrl !== undefined && { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: modelUrl }),
  }),
  dataDir,
);
const server = await startServer({
  ...settings,
  code: codeOf({ tools: [add] }),
  // SQL statements are off, because each would start a process. sql-hostile.test.ts tests worse statements than the
  // fuzzer makes.
  limits: { requestBurst: 1e9, requestsPerSecond: 1e9, sessionsPerMinute: 1e9, streams: 1e6, statements: 0 },
  log(line) {
    if (line["level"] === "error") console.error(JSON.stringify(line));
  },
});
watchForStalls();
console.log(JSON.stringify({ url: server.url, keys: { admin: server.key.key, ...keys } }));
process.stdin.resume().once("end", () => void server.close().then(() => process.exit(0)));

/** Makes keys with fewer rights, and a key of another tenant. */
async function makeKeys(): Promise<Omit<ServedKeys, "admin">> {
  const store = await openStore(storeUrl);
  try {
    const { make } = createKeys({ records: store.records });
    return {
      read: await make({ name: "reader", scopes: ["read"], tenant: "default" }),
      run: await make({ name: "runner", scopes: ["run"], tenant: "default" }),
      foreign: await make({ name: "somebody else", scopes: ["admin"], tenant: "other" }),
    };
  } finally {
    await store.close();
  }
}

/** Reports each block of the event loop that is longer than a second, with its length and the used processor time. */
function watchForStalls(): void {
  let last = performance.now();
  let used = process.cpuUsage();
  setInterval(() => {
    const gap = performance.now() - last - 100;
    const { user, system } = process.cpuUsage(used);
    if (gap > 1000)
      console.error(
        `Stalled for ${gap.toFixed(0)} ms, and worked for ${((user + system) / 1000).toFixed(0)} ms of it.`,
      );
    last = performance.now();
    used = process.cpuUsage();
  }, 100).unref();
}
