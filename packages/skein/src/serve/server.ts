import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createFolderFileStore } from "@skein/adapters/files/folder";
import type { Bus } from "@skein/core";
import { withoutSecrets } from "@skein/protocol";
import { type Limits, createKeys, createServer as createHttpServer } from "@skein/server";
import { createTenantSql } from "@skein/sql/sandbox";
import { createAdoption } from "../adoption.ts";
import { createHost } from "../host.ts";
import { modelFrom } from "../model-from.ts";
import { openMemoriesNamed } from "../open-memories.ts";
import { openStore } from "../open-store.ts";
import { createClaude } from "./claude.ts";
import { type ServedCode, storeAgents } from "./config-file.ts";
import { type FirstKey, firstKey } from "./first-key.ts";
import { type ServeSettings, openedByBoth } from "./settings.ts";
import { createWebhookSender } from "./webhook-sender.ts";

/** A server that runs: sessions are driven, requests answered. */
export interface RunningServer {
  readonly url: string;
  readonly key: FirstKey;
  readonly model: { readonly description: string; readonly simulated: boolean };
  /** Takes no more work, tells the streams, and gives back what it was doing. */
  close(): Promise<void>;
}

export interface StartOptions extends Omit<
  ServeSettings,
  "configFile" | "traceEndpoint" | "sqlHistory" | "claudeCode" | "claudeOpened" | "redisUrl"
> {
  readonly redisUrl?: string | undefined;
  readonly traceEndpoint?: string | undefined;
  readonly sqlHistory?: readonly string[];
  readonly claudeCode?: boolean;
  readonly claudeOpened?: ServeSettings["claudeOpened"];
  readonly code: ServedCode;
  readonly limits?: Partial<Limits>;
  readonly log?: (line: Readonly<Record<string, unknown>>) => void;
  readonly logRequests?: boolean;
  readonly demoDelayMs?: number;
  readonly webhookRetryMs?: readonly number[];
}

const DEFAULT_MODEL = "claude-sonnet-5-5";

/** Puts a server together from its settings: store, model, engine, agents, keys, HTTP. */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const { dataDir, storeUrl, code, log = () => {} } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, 0o700);
  const store = await openStore(storeUrl);
  const report = (error: unknown): void =>
    log({
      level: "error",
      message: withoutSecrets(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    });
  try {
    const key = await firstKey(createKeys({ records: store.records }), options);
    await storeAgents(code.agents, store.records);
    const { model, description, simulated, api, close: closeModel } = await modelFrom(options);
    const memories = await openMemoriesNamed(new Set(["placeholder", "full_text"]), storeUrl);
    const files = createFolderFileStore({ folder: join(dataDir, "files") });
    const claude =
      options.claudeCode === false
        ? undefined
        : createClaude({
            dataDir,
            records: store.records,
            settings: options.claudeOpened ? openedByBoth(options.claudeOpened, code.claude) : code.claude,
            allowedAddresses: options.allowedWebhookAddresses,
            api,
          });
    const bus = options.redisUrl === undefined ? undefined : await openBus(options.redisUrl, report);
    const host = createHost({
      store,
      bus,
      model,
      ...code,
      files,
      memoryNamed: memories.named,
      ...(claude && { runtimes: claude.runtimes }),
      report,
    });
    const sql = createTenantSql({
      store,
      folder: join(dataDir, "sql"),
      ...(options.sqlHistory?.length && {
        history: { roots: options.sqlHistory, cacheFolder: join(dataDir, "cache") },
      }),
    });
    const server = await createHttpServer({
      store,
      sql,
      live: host.live,
      reserve: host.engine.reserve,
      bus,
      files,
      claude: claude?.gate,
      runtimes: claude ? ["loop", "claude-code"] : ["loop"],
      adoption: createAdoption({ store }),
      toolNamed(name) {
        const tool = code.tools.get(name);
        return tool && { name, description: tool.description, input_schema: tool.inputSchema };
      },
      defaultModel: DEFAULT_MODEL,
      description: { version: version(), store: storeUrl.split(":")[0] ?? "", model: description },
      webhookSender: createWebhookSender({ allowedAddresses: options.allowedWebhookAddresses }),
      ...(options.webhookRetryMs && { webhookRetryMs: options.webhookRetryMs }),
      traceEndpoint: options.traceEndpoint,
      allowedHosts: options.allowedHosts,
      allowedOrigins: options.allowedOrigins,
      log: options.log,
      logRequests: options.logRequests,
      ...(options.limits && { limits: options.limits }),
    });
    const stop = async (): Promise<void> => {
      await Promise.all([server.close(), host.stop(), sql.close()]);
      await claude?.close();
      await memories.close();
      await bus?.close();
      await store.close();
      await closeModel();
    };
    try {
      const url = await server.listen(options);
      return { url, key, model: { description, simulated }, close: stop };
    } catch (error) {
      await stop();
      throw error;
    }
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Loaded only where there are several machines. */
async function openBus(url: string, report: (error: unknown) => void): Promise<Bus> {
  const { createRedisBus } = await import("@skein/adapters/buses/redis");
  return createRedisBus({ url, report });
}

function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
