import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Client, createClient } from "@skein/client";
import type { Step } from "@skein/simulator";
import type { BrowserContext, Page } from "playwright-core";
import { openBrowser } from "../../dev/browser.ts";
import { type Platform, startPlatform } from "../../dev/platform.ts";
import { type ScriptedModel, startScriptedModel } from "../../dev/scripted-model.ts";

const CONSOLE = join(import.meta.dirname, "../..");
const ROOT = join(CONSOLE, "../..");
const CONFIG = join(CONSOLE, "dev/skein.config.ts");

/** A real server (the platform) with the built console, and a browser. All tests of a file share them. */
export interface World {
  platform: Platform;
  /** The address of the platform and of its console. */
  readonly url: string;
  readonly model: ScriptedModel;
  readonly client: Client;
  /** Opens another browser profile, with separate cookies and connections. */
  newContext(timeZone?: string): Promise<BrowserContext>;
  /** Opens a page that is logged in. Without `context`, the page gets its own browser profile. */
  open(path: string, context?: BrowserContext): Promise<Page>;
  /** Kills the platform and starts it again at the same address. */
  crash(whileGone?: () => Promise<void>): Promise<void>;
  /** The folder in which Claude Code would keep its data. */
  readonly claudeFolder: string;
  /** A folder in which agents may write. */
  readonly workFolder: string;
  /** Creates a session without messages for an example agent. */
  create(agent: string, title: string): Promise<string>;
  /** Sends a prompt that the model answers with these steps. */
  say(id: string, prompt: string, steps: readonly Step[]): Promise<void>;
  /** `create` and `say` in one call. */
  begin(agent: string, prompt: string, steps: readonly Step[]): Promise<string>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly withAgents?: boolean;
  /**
   * Whether the platform uses its own simulated model, as it does without an API key of a provider. `say` and `begin`
   * do not work then.
   */
  readonly isSimulated?: boolean;
  /** Whether agents can use the real Claude Code, which may work in `workFolder`. */
  readonly withClaude?: boolean;
}

/** Navigates without loading the page again, as a click would, and waits until the page has its content. */
export async function go(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`);
  await page.locator("h1, [role=dialog]").first().waitFor();
  await page.locator("main [aria-busy]").first().waitFor({ state: "detached" });
}

/** The folder of the built console. All tests of a process use it, until `removeBuilt` is called. */
let built: Promise<string> | undefined;

export async function removeBuilt(): Promise<void> {
  const folder = await built;
  if (folder !== undefined && folder !== join(CONSOLE, "dist")) rmSync(folder, { recursive: true, force: true });
  built = undefined;
}

function isNewerThanSources(file: string): boolean {
  const builtAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const used = ["apps/console", "packages/client", "packages/protocol"].map((folder) => join(ROOT, folder));
  return used.every((folder) =>
    [join(folder, "package.json"), ...filesIn(join(folder, "src"))].every((one) => statSync(one).mtimeMs <= builtAt),
  );
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function builtConsole(): Promise<string> {
  built ??= (async () => {
    const installed = join(CONSOLE, "dist");
    // `npm install` builds the console. If a source has changed since then, it is built again in another folder.
    if (isNewerThanSources(join(installed, "index.html"))) return installed;
    const outDir = mkdtempSync(join(tmpdir(), "skein-console-built-"));
    // The build runs in a separate process, because Vite would use React's development build inside a test.
    const command = [join(ROOT, "node_modules/vite/bin/vite.js"), "build", "--outDir", outDir, "--emptyOutDir"];
    const env = { ...process.env, NODE_ENV: "production" };
    await promisify(execFile)(process.execPath, [...command, "--logLevel", "error"], { cwd: CONSOLE, env });
    return outDir;
  })();
  return built;
}

export async function createWorld({
  withAgents = true,
  withClaude = false,
  isSimulated = false,
}: WorldOptions = {}): Promise<World> {
  const data = mkdtempSync(join(tmpdir(), "skein-console-test-"));
  const model = await startScriptedModel();
  // Sessions may not see the data folder, so the work folder is elsewhere.
  const workFolder = mkdtempSync(join(tmpdir(), "skein-console-work-"));
  const config = {
    ...(withAgents && { config: CONFIG }),
    ...(withClaude && { claudeFolder: workFolder }),
    ...(!isSimulated && { modelUrl: model.url }),
  };
  const consoleFolder = await builtConsole();
  const platform = await startPlatform({ data, consoleFolder, ...config });
  const browser = await openBrowser({ width: 1280, height: 800 });
  const client = createClient({ url: platform.url, apiKey: platform.key });
  const world: World = {
    platform,
    url: platform.url,
    model,
    client,
    newContext: browser.newContext,
    async open(path, given) {
      // Each profile has its own six connections to a server. Pages in one profile would use them up.
      const profile = given ?? (await browser.newContext());
      const page = await profile.newPage();
      page.once("close", () => void profile.close().catch(() => undefined));
      await page.goto(`${platform.url}${path}#key=${platform.key}`);
      // When the page shows its content, the cookie is set, and the test can open other addresses.
      await page.locator(".app").waitFor();
      return page;
    },
    claudeFolder: join(data, ".claude"),
    workFolder,
    async crash(whileGone) {
      const { port } = world.platform;
      await world.platform.kill();
      try {
        await whileGone?.();
      } finally {
        // The platform is started again even if `whileGone` throws, because later tests need it.
        world.platform = await startPlatform({ data, consoleFolder, port, ...config });
      }
    },
    async begin(agentName, prompt, steps) {
      const id = await world.create(agentName, prompt.slice(0, 60));
      await world.say(id, prompt, steps);
      return id;
    },
    async say(id, prompt, steps) {
      model.plays(prompt, steps);
      await client.postMessage({ params: { session_id: id }, body: { role: "user", content: { text: prompt } } });
    },
    async create(agentName, title) {
      const { data: agents } = await client.listAgents({ query: { limit: 200 } });
      const agent = agents.find(({ name }) => name === agentName);
      if (!agent) throw new Error(`No agent ${agentName}.`);
      return (await client.createSession({ body: { agent_id: agent.id, title } })).id;
    },
    async close() {
      await browser.close();
      await world.platform.stop();
      await model.close();
      for (const folder of [data, workFolder]) rmSync(folder, { recursive: true, force: true });
    },
  };
  return world;
}
