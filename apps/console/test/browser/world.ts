import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "@skein/client";
import type { Step } from "@skein/simulator";
import type { BrowserContext, Page } from "playwright-core";
import { build } from "vite";
import { type OpenBrowser, openBrowser } from "../../dev/browser.ts";
import { type Platform, startPlatform } from "../../dev/platform.ts";
import { type ScriptedModel, startScriptedModel } from "../../dev/scripted-model.ts";

const CONSOLE = join(import.meta.dirname, "../..");
const CONFIG = join(CONSOLE, "dev/skein.config.ts");

/** A built console over a real platform, and a browser in front of it: shared by all tests of a file. */
export interface World {
  platform: Platform;
  /** Where the platform and its console are. */
  readonly url: string;
  readonly model: ScriptedModel;
  readonly client: Client;
  readonly context: BrowserContext;
  /** A page that is logged in, at an address. */
  open(path: string): Promise<Page>;
  /** Ends the platform as a crash would and starts it again at the same place. */
  crash(whileGone?: () => Promise<void>): Promise<void>;
  /** The folder in which Claude Code would keep its data. */
  readonly claudeFolder: string;
  /** A session with an agent of the seed, after its first prompt was sent. */
  begin(agent: string, prompt: string, steps: readonly Step[]): Promise<string>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly withAgents?: boolean;
  /** A browser that is open already. */
  readonly context?: BrowserContext;
}

/** The files of the console as they are now, built once for all tests of a process, until `removeBuilt`. */
let built: Promise<string> | undefined;

export async function removeBuilt(): Promise<void> {
  if (built) rmSync(await built, { recursive: true, force: true });
  built = undefined;
}

function builtConsole(): Promise<string> {
  built ??= (async () => {
    const outDir = mkdtempSync(join(tmpdir(), "skein-console-built-"));
    await build({
      configFile: join(CONSOLE, "vite.config.ts"),
      logLevel: "error",
      build: { outDir, emptyOutDir: true },
    });
    return outDir;
  })();
  return built;
}

export async function createWorld({ withAgents = true, context }: WorldOptions = {}): Promise<World> {
  const data = mkdtempSync(join(tmpdir(), "skein-console-test-"));
  const model = await startScriptedModel();
  const config = withAgents ? { config: CONFIG } : {};
  const consoleFolder = await builtConsole();
  const platform = await startPlatform({ data, modelUrl: model.url, consoleFolder, ...config });
  const browser: OpenBrowser = context
    ? { context, newContext: async () => context, close: async () => {} }
    : await openBrowser({ width: 1280, height: 800 });
  const client = createClient({ url: platform.url, apiKey: platform.key });
  const world: World = {
    platform,
    url: platform.url,
    model,
    client,
    context: browser.context,
    async open(path) {
      const page = await browser.context.newPage();
      await page.goto(`${platform.url}${path}#key=${platform.key}`);
      // Logged in: the cookie is there, and other addresses can be opened.
      await page.locator(".app").waitFor();
      return page;
    },
    claudeFolder: join(data, ".claude"),
    async crash(whileGone) {
      const { port } = world.platform;
      await world.platform.kill();
      await whileGone?.();
      world.platform = await startPlatform({ data, modelUrl: model.url, consoleFolder, port, ...config });
    },
    async begin(agentName, prompt, steps) {
      model.plays(prompt, steps);
      const { data: agents } = await client.listAgents({ query: { limit: 200 } });
      const agent = agents.find(({ name }) => name === agentName);
      if (!agent) throw new Error(`No agent ${agentName}.`);
      const { id } = await client.createSession({ body: { agent_id: agent.id, title: prompt.slice(0, 60) } });
      await client.postMessage({ params: { session_id: id }, body: { role: "user", content: { text: prompt } } });
      return id;
    },
    async close() {
      await browser.close();
      await world.platform.stop();
      await model.close();
      rmSync(data, { recursive: true, force: true });
    },
  };
  return world;
}
