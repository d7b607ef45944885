import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Event } from "@skein/protocol";
import type { Agent } from "skein";
import { expect, onTestFinished } from "vitest";
import { scripted } from "./simulated.ts";

export { counting, pick } from "./tools.ts";

/** The stores that every behaviour is tested on. */
export const STORES = ["memory", "sqlite"] as const;

/** The address of a new store, removed at the end of the test. */
export function storeUrl(kind: (typeof STORES)[number]): string {
  return kind === "memory" ? "memory:" : `sqlite:${join(folder(), "skein.db")}`;
}

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "skein-loop-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Waits until a condition is true, for at most five seconds. */
export async function until<Value>(probe: () => Value | Promise<Value>): Promise<NonNullable<Value>> {
  const end = Date.now() + 5000;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`This did not become true within 5 s: ${probe.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export async function collected<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Returns the tool result that the model got for a call. */
export async function resultOf(agent: Agent, sessionId: string, toolUseId: string) {
  const completed = await eventsOf(agent, sessionId, "tool.completed");
  return completed.find(({ data }) => data.tool_use_id === toolUseId)?.data;
}

export async function eventsOf<Type extends Event["event_type"]>(agent: Agent, sessionId: string, type: Type) {
  const events = await (await agent.sessions()).events(sessionId);
  return events.filter((event): event is Extract<Event, { event_type: Type }> => event.event_type === type);
}

/** Checks that the API accepts the transcript: the next prompt gets its answer. */
export async function expectUsable(agent: Agent, sessionId: string): Promise<void> {
  const next = await agent.run(scripted("And now?", [{ text: "Still here." }]), { sessionId });
  expect(next).toMatchObject({ error: null, finalAnswer: "Still here.", stopReason: "end_turn" });
}

/** Starts a process that runs a file of `processes/` and prints lines. */
export function child(file: string, ...args: readonly string[]) {
  const path = fileURLToPath(new URL(`processes/${file}`, import.meta.url));
  const process_: ChildProcess = spawn(
    process.execPath,
    ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", path, ...args],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const exited = once(process_, "exit");
  onTestFinished(() => void process_.kill("SIGKILL"));
  const lines = createInterface({ input: process_.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  return {
    process: process_,
    line: async (): Promise<unknown> => JSON.parse((await lines.next()).value ?? "null"),
    exit: async (): Promise<number | null> => ((await exited) as [number | null])[0],
  };
}
