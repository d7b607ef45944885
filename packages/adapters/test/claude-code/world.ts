import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import { createClaudeCode, type ClaudeCodeDeps, type Spawn } from "@skein/adapters/runtimes/claude-code";
import { createSpawnChild } from "@skein/adapters/runtimes/claude-code/process-guard";
import { openNone } from "@skein/adapters/sandboxes/none";
import { type KeyPolicy, type SessionAgent, type Store, createMemoryStore, onlyModel } from "@skein/core";
import { AgentConfig, type ClaudeOptions, type Content, type Event, type NewEvent } from "@skein/protocol";
import { type Step, createSimulator, script } from "@skein/simulator";
import { onTestFinished } from "vitest";
import { createHost } from "../../../skein/src/host.ts";

/** A temporary folder, removed at the end of the test. */
export function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "skein-claude-")));
  // A child process may still be writing its last lines.
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  return path;
}

/** Waits until `probe` returns a truthy value, and returns this value. */
export async function until<Value>(probe: () => Value | Promise<Value>, ms = 60_000): Promise<NonNullable<Value>> {
  const end = Date.now() + ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`Not within ${ms} ms: ${probe.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export const play = (...steps: Step[]): string => `Please do it. ${script(steps, "claude-code")}`;

type Options = { [Key in keyof ClaudeOptions]?: unknown };

export function claudeAgent(options: Options): SessionAgent {
  return {
    id: "00000000-0000-7000-8000-0000000000cc",
    version: 1,
    status: "active",
    config: AgentConfig.parse({
      name: "Claude Code",
      runtime: "claude-code",
      model: (options.model as string | undefined) ?? "claude-opus-5-5",
      extras: { claude: options },
    }),
  };
}

export type World = Awaited<ReturnType<typeof createWorld>>;

/** Creates a host that runs Claude Code sessions with the real binary and a simulator. */
export async function createWorld({
  store = createMemoryStore(),
  environment = {},
  ...deps
}: { store?: Store; environment?: Record<string, string> } & Partial<Omit<ClaudeCodeDeps, "store" | "states">> = {}) {
  const simulator = await createSimulator();
  const home = folder();
  const cwd = folder();
  const problems: unknown[] = [];
  let claude: ReturnType<typeof createClaudeCode> | undefined;
  const host = createHost({
    store,
    agents: [],
    models: onlyModel(createAnthropicModel({ apiKey: "not used" })),
    report: (error) => void problems.push(error),
    runtimes(parts) {
      claude = createClaudeCode({
        configDirOf: (tenant) => join(home, tenant),
        apiEnv: {
          ANTHROPIC_BASE_URL: simulator.url,
          ANTHROPIC_API_KEY: "sk-ant-api03-dummy-not-a-key",
          CLAUDE_CODE_MAX_RETRIES: "1",
          ...environment,
        },
        ...parts,
        ...deps,
        // No process is started in advance, because that slows the test down.
        children: { maxAhead: 0, ...deps.children },
      });
      return new Map([["claude-code", claude]]);
    },
  });
  const stop = async (): Promise<void> => {
    await host.stop();
    await claude?.close();
  };
  onTestFinished(async () => {
    await stop();
    await simulator.close();
  });
  const { sessions } = host;

  async function run(prompt: Content, options: Options = {}): Promise<{ sessionId: string; events: readonly Event[] }> {
    const { sessionId, runId } = await sessions.begin(claudeAgent({ cwd, ...options }), { content: prompt });
    return { sessionId, events: await ended(sessionId, runId) };
  }

  async function again(sessionId: string, content: Content, options: Record<string, unknown> = {}) {
    const { runId } = await sessions.prompt(sessionId, {
      content,
      ...(Object.keys(options).length > 0 && { options }),
    });
    return ended(sessionId, runId);
  }

  /** Waits until a run has ended, and returns its events. */
  async function ended(sessionId: string, runId: string): Promise<readonly Event[]> {
    return until(async () => {
      const events = await sessions.events(sessionId);
      const end = events.findIndex(
        (event) =>
          (event.event_type === "session.completed" || event.event_type === "session.failed") &&
          event.data.run_id === runId,
      );
      const start = events.findIndex((event) => event.event_type === "session.started" && event.data.run_id === runId);
      return end === -1 ? undefined : events.slice(start, end + 1);
    });
  }

  /**
   * Begins a session, and waits until its call has had an effect. The call ends only after a minute or with its
   * process. After the call, the model answers with the call's output.
   */
  async function inMidCall(): Promise<{ sessionId: string; runId: string; effects: () => string }> {
    const file = join(cwd, "effects");
    const command = "echo once >> effects; timeout 60 tail -f /dev/null";
    const { sessionId, runId } = await sessions.begin(
      claudeAgent({ cwd, allowed_tools: ["Bash"] }),
      play({ text: "Working.", tools: [{ name: "Bash", input: { command } }] }, { text: "It said: $LAST" }),
    );
    await until(() => existsSync(file));
    return { sessionId, runId, effects: () => readFileSync(file, "utf8") };
  }

  /** Takes the lease of a session away from this host, as if it had expired. */
  async function takeAway(sessionId: string) {
    const [owner = ""] = await store.owners();
    await store.free(owner);
    const claim = await store.claim({ owner: "another", leaseMs: 60_000, sessionId });
    if (claim.kind !== "leased") throw new Error("The session could not be taken.");
    return claim;
  }

  return {
    host,
    inMidCall,
    takeAway,
    sessions,
    store,
    simulator,
    home,
    cwd,
    problems,
    /** Returns the id of a session whose process was started in advance, if any. */
    reserve: (options: Options, rules?: KeyPolicy) =>
      claude?.reserve("default", { cwd, ...options } as Partial<ClaudeOptions>, rules),
    /** The number of processes, and of sessions that wait for a process. */
    figures: async () => claude?.figures(),
    run,
    again,
    ended,
    stop,
    /** The requests that the model received, oldest first. */
    requests: () =>
      simulator.ledger.calls({ kind: "messages" }).map(({ request }) => request as Record<string, unknown>),
  };
}

export function only<Type extends Event["event_type"]>(events: readonly Event[], type: Type) {
  return events.filter((event): event is Extract<Event, { event_type: Type }> => event.event_type === type);
}

/** Starts processes without a guard, and lists them. */
export function spawning(pids: number[]): { readonly spawn: Spawn } {
  return {
    spawn({ command, args, cwd, env, signal }) {
      const child = spawn(command, args, { cwd, env, signal, stdio: ["pipe", "pipe", "ignore"] });
      if (child.pid !== undefined) pids.push(child.pid);
      return child;
    },
  };
}

/** A line that Claude Code writes for the SDK. */
export type ChildLine = { readonly type?: string };

/** Starts the real Claude Code. A line of its output is passed on if `pass` resolves to true. */
export async function spawnThrough(pass: (line: ChildLine) => Promise<boolean>): Promise<Spawn> {
  const found = await openNone();
  if ("problem" in found) throw new Error(found.problem);
  const spawn = createSpawnChild({ ...found, folder: join(folder(), "run") });
  return (request) => {
    const child = spawn(request);
    const stdout = new PassThrough();
    let open = 1;
    const done = (): void => void ((open -= 1) === 0 && stdout.end());
    const lines = createInterface(child.stdout);
    lines.on("line", (line) => {
      open += 1;
      void pass(JSON.parse(line) as ChildLine)
        .then((isPassed) => isPassed && stdout.write(`${line}\n`))
        .finally(done);
    });
    lines.on("close", done);
    return Object.assign(Object.create(child) as typeof child, { stdout });
  };
}

export function isAlive(pid: number | undefined): boolean {
  try {
    // A process in the state Z (zombie) has ended.
    return pid !== undefined && !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

/** Returns a memory store in which `append` replaces those appends that contain selected events. */
export function storeWhere(
  isIt: (event: NewEvent) => boolean,
  append: (original: Store["append"], ...args: Parameters<Store["append"]>) => ReturnType<Store["append"]>,
): Store {
  const store = createMemoryStore();
  const changed: Store["append"] = (sessionId, events, options) =>
    events.some(isIt) ? append(store.append, sessionId, events, options) : store.append(sessionId, events, options);
  return { ...store, append: changed };
}
