import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@skein/client";
import type { OpenBrowser } from "../../apps/console/dev/browser.ts";
import type { Platform } from "../../apps/console/dev/platform.ts";
import type { ScriptedModel } from "../../apps/console/dev/scripted-model.ts";

export type BrowserContext = OpenBrowser["context"];
export type Page = Awaited<ReturnType<BrowserContext["newPage"]>>;

/** A measured figure with its goal. */
export interface Line {
  readonly name: string;
  readonly measured: string;
  readonly goal: string;
  readonly isMet: boolean;
}

export interface Bench {
  readonly platform: Platform;
  readonly model: ScriptedModel;
  readonly context: BrowserContext;
  readonly client: Client;
  /** Makes a new browser profile with separate connections. */
  readonly newContext: () => Promise<BrowserContext>;
  /** The memory of the server's process in bytes. */
  readonly serverMemory: () => number;
  /** The processor time of the server's process in seconds. */
  readonly serverSeconds: () => number;
}

export function line(name: string, value: number, { most, unit }: { most: number; unit: string }): Line {
  const shown = (number: number): string => `${Math.round(number * 10) / 10} ${unit}`;
  return { name, measured: shown(value), goal: `≤ ${shown(most)}`, isMet: value <= most };
}

/** Throws an error if the work takes longer than `seconds`. */
export async function within<T>(seconds: number, what: string, work: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const late = sleep(seconds * 1000, undefined, { signal: stop.signal }).then(
    () => Promise.reject(new Error(`${what}: it was not done after ${seconds} s.`)),
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    stop.abort();
  }
}

/** Opens a page and logs in. */
export async function openPage({ context, platform }: Bench, path = "/"): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${platform.url}${path}#key=${platform.key}`);
  await page.locator(".app").waitFor();
  return page;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Makes a session and sends its first prompt. The default agent is `Helper` of the console's configuration. */
export async function begin(
  bench: Bench,
  prompt: string,
  steps: Parameters<ScriptedModel["plays"]>[1],
  agentId?: string,
): Promise<string> {
  bench.model.plays(prompt, steps);
  const { data } = await bench.client.listAgents({ query: { limit: 200 } });
  const agent = data.find(({ name, id }) => (agentId === undefined ? name === "Helper" : id === agentId));
  if (!agent) throw new Error("The configuration of the console has no agent Helper.");
  const { id } = await bench.client.createSession({ body: { agent_id: agent.id, title: prompt } });
  await bench.client.postMessage({ params: { session_id: id }, body: { role: "user", content: { text: prompt } } });
  return id;
}

/** Waits until the server is idle, for example after building an index. */
export async function serverIsIdle({ serverSeconds }: Bench): Promise<void> {
  for (let turn = 0; turn < 120; turn++) {
    const before = serverSeconds();
    await sleep(1000);
    if (serverSeconds() - before < 0.1) return;
  }
  throw new Error("The server was still busy after 120 s.");
}
