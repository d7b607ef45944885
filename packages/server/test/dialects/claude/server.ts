import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Simulator, createSimulator } from "@skein/simulator";
import { type SkeinConfig, codeOf } from "../../../../skein/src/serve/config-file.ts";
import { startServer } from "../../../../skein/src/serve/server.ts";
import type { StartOptions } from "../../../../skein/src/serve/start-options.ts";
import { anyStore } from "../../any-store.ts";
import { type Caller, caller } from "../../world.ts";

/**
 * A server that runs the real Claude Code with a separate simulator. Several tests share it, and the test file that
 * starts it closes it.
 */
export interface ClaudeServer {
  readonly url: string;
  readonly key: string;
  readonly call: Caller;
  readonly simulator: Simulator;
  /** The folder in which sessions may work. */
  readonly work: string;
  readonly data: string;
  readonly logged: Record<string, unknown>[];
  /** The model requests that Claude Code sent for prompts of this label, in order. */
  requests(label: string): readonly ModelRequest[];
  close(): Promise<void>;
}

interface ModelRequest {
  readonly model: string;
  readonly system?: unknown;
  readonly tools?: readonly { readonly name: string }[];
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** Starts a server. Its sandbox is off by default, because other tests cover the sandbox. */
export async function claudeServer({
  claude = {},
  policy = { sandbox: "off" },
  ...options
}: Partial<StartOptions> & Pick<SkeinConfig, "claude" | "policy"> = {}): Promise<ClaudeServer> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "skein-claude-api-")));
  const work = join(home, "work");
  const data = join(home, "data");
  mkdirSync(work);
  const simulator = await createSimulator();
  const logged: Record<string, unknown>[] = [];
  const server = await startServer({
    port: 0,
    host: "127.0.0.1",
    storeUrl: await anyStore(home),
    dataDir: data,
    apiKey: undefined,
    allowedHosts: [],
    allowedOrigins: [],
    allowedWebhookAddresses: [],
    anthropicApiKey: "sk-ant-api03-dummy-not-a-key",
    anthropicBaseUrl: simulator.url,
    // Processes that are started in advance would slow the tests down.
    code: codeOf({ claude: { roots: [work], processes: { ahead: 0 }, ...claude }, policy }),
    limits: { requestBurst: 100_000, requestsPerSecond: 100_000 },
    log: (line) => logged.push({ ...line }),
    ...options,
  });
  const { key } = server.key;
  return {
    url: server.url,
    key,
    call: caller(server.url, key),
    simulator,
    work,
    data,
    logged,
    requests: (label) => simulator.ledger.calls({ label }).map(({ request }) => request as ModelRequest),
    async close() {
      await server.close();
      await simulator.close();
      // A child process may still be writing its last lines.
      rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}
