/**
 * A server with two tenants in a separate process. Prints its address and one API key per tenant, and ends when its
 * input closes.
 */
import { createKeys } from "@skein/server";
import { defineTool } from "skein";
import { z } from "zod";
import { openStore } from "../../packages/skein/src/open-store.ts";
import { codeOf } from "../../packages/skein/src/serve/config-file.ts";
import { startServer } from "../../packages/skein/src/serve/server.ts";

const [storeUrl = "", dataDir = "", anthropicBaseUrl = ""] = process.argv.slice(2);
const slow = defineTool({
  name: "slow",
  description: "Takes 25 s.",
  input: z.looseObject({}),
  policy: "repeatable",
  run: (_, { signal }) =>
    new Promise<string>((resolve) => {
      const timer = setTimeout(resolve, 25_000, "done");
      signal.addEventListener("abort", () => (clearTimeout(timer), resolve("stopped")));
    }),
});
const store = await openStore(storeUrl);
const keys = createKeys({ records: store.records });
const scopes = ["run", "sql", "admin"] as const;
const make = (tenant: string): Promise<string> => keys.make({ name: tenant, scopes: [...scopes], tenant });
const [flood, calm] = [await make("flood"), await make("calm")];
await store.close();
const server = await startServer({
  port: 0,
  host: "127.0.0.1",
  storeUrl,
  dataDir,
  apiKey: undefined,
  allowedHosts: [],
  allowedOrigins: [],
  allowedWebhookAddresses: ["127.0.0.1"],
  anthropicApiKey: "sk-ant-simulated",
  anthropicBaseUrl,
  logRequests: false,
  code: codeOf({ tools: [slow] }),
});
console.log(JSON.stringify({ url: server.url, flood, calm }));
process.stdin.resume().on("end", () => void server.close().then(() => process.exit(0)));
