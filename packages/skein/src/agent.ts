import {
  type MemoryStore,
  type SessionAgent,
  type Sessions,
  type Store,
  type Tool,
  type Validate,
  defineTool,
  derivedId,
} from "@skein/core";
import { AgentConfig, type Content, type Draft, type Event, KnownError } from "@skein/protocol";
import { z } from "zod";
import { readConfig } from "./config.ts";
import { type Host, type RegisteredAgent, createHost } from "./host.ts";
import { modelFrom } from "./model-from.ts";
import { openStore } from "./open-store.ts";
import { type AgentResult, runOutcome } from "./result.ts";
import { streamRun } from "./stream.ts";

export interface AgentOptions extends Omit<Partial<z.input<typeof AgentConfig>>, "tool_schemas"> {
  readonly tools?: readonly Tool[];
  /** Other agents that this one may call, as tools of their names. */
  readonly subagents?: readonly Agent[];
  /** Checks a final answer: a sentence that it returns goes back to the model. */
  readonly validate?: Validate;
  readonly memory?: MemoryStore;
  /** Where sessions live: `memory:` (the default), `sqlite:FILE`, `file:FOLDER`, `postgres://…`, or an open store. */
  readonly store?: string | Store;
  readonly apiKey?: string;
  readonly baseUrl?: string;
  readonly leaseMs?: number;
}

export interface RunOptions {
  /** Go on with this session instead of a new one. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: Event) => void;
  readonly maxCostMicros?: number;
}

/** An agent that can be run: in this process, on whichever store it was given. */
export interface Agent {
  readonly name: string;
  /** Runs one prompt to its end, or until it waits for somebody. */
  run(prompt: Content, options?: RunOptions): Promise<AgentResult>;
  /** The same as a stream: facts as they are stored, and the text of a step while it is made. */
  stream(prompt: Content, options?: RunOptions): AsyncIterable<Event | Draft>;
  /** Answers a call that a run waits for, and goes on with it. */
  answer(sessionId: string, answers: readonly Answer[]): Promise<AgentResult>;
  /** Goes on with a session of an earlier process: waits for what is under way to end. */
  resume(sessionId: string, options?: Omit<RunOptions, "sessionId">): Promise<AgentResult>;
  readonly sessions: () => Promise<Sessions>;
  close(): Promise<void>;
}

export interface Answer {
  readonly toolUseId: string;
  readonly content: Content;
  readonly isError?: boolean;
}

interface Opened {
  readonly host: Host;
  readonly close: () => Promise<void>;
}

/** The parts of an agent that another one needs to call it. */
const parts = new WeakMap<Agent, readonly RegisteredAgent[]>();

/**
 * Makes an agent from a prompt, a model and tools.
 *
 * Nothing is opened before the first run. Without a key and without another address the model is a simulation.
 */
export function createAgent(options: AgentOptions = {}): Agent {
  const registered = registration(options);
  const all = [registered, ...(options.subagents ?? []).flatMap((agent) => parts.get(agent) ?? [])];
  let opening: Promise<Opened> | undefined;
  const opened = (): Promise<Opened> => (opening ??= open(options, all));

  async function begin(
    prompt: Content,
    { sessionId, maxCostMicros }: RunOptions,
  ): Promise<{ host: Host; sessionId: string; runId: string; after: number }> {
    const { host } = await opened();
    const input = { content: prompt, ...(maxCostMicros !== undefined && { maxCostMicros }) };
    const accepted =
      sessionId === undefined
        ? await host.sessions.begin(registered.agent, input)
        : await host.sessions.prompt(sessionId, input);
    return {
      host,
      sessionId: accepted.sessionId,
      runId: accepted.runId,
      after: sessionId === undefined ? 0 : accepted.sequence - 1,
    };
  }

  const agent: Agent = {
    name: registered.agent.config.name,
    async run(prompt, run = {}) {
      const { host, sessionId, runId, after } = await begin(prompt, run);
      return runOutcome({ host, sessionId, runId, after, ...run });
    },
    async *stream(prompt, run = {}) {
      const { host, sessionId, runId, after } = await begin(prompt, run);
      yield* streamRun({ host, sessionId, runId, after, ...run });
    },
    async answer(sessionId, answers) {
      const { host } = await opened();
      const session = await host.sessions.get(sessionId);
      if (session.run_id === null)
        throw new KnownError("not_awaiting", `Session ${sessionId} does not wait for anything.`);
      let answered = 0;
      for (const { toolUseId, content, isError = false } of answers)
        answered = (await host.sessions.answer(sessionId, toolUseId, { content, isError })).sequence ?? answered;
      return runOutcome({ host, sessionId, runId: session.run_id, after: 0, answered });
    },
    async resume(sessionId, run = {}) {
      const { host } = await opened();
      const [last] = (await host.sessions.runs(sessionId, { limit: 1 })).items;
      const state = await host.sessions.state(sessionId);
      const runId = state.queue.at(-1)?.run_id ?? last?.id;
      if (runId === undefined) throw new KnownError("not_running", `Session ${sessionId} has no run to go on with.`);
      host.engine.wake(sessionId);
      return runOutcome({ host, sessionId, runId, after: 0, ...run });
    },
    sessions: async () => (await opened()).host.sessions,
    async close() {
      if (opening) await (await opening).close();
      opening = undefined;
    },
  };
  parts.set(agent, all);
  return agent;
}

function registration(options: AgentOptions): RegisteredAgent {
  const {
    tools = [],
    subagents = [],
    validate,
    memory,
    store: _s,
    apiKey: _k,
    baseUrl: _b,
    leaseMs: _l,
    ...config
  } = options;
  const all = [...tools, ...subagents.map(asTool)];
  const byName = new Map(all.map((tool) => [tool.name, tool]));
  if (byName.size < all.length) throw new KnownError("invalid", "Two tools of an agent have the same name.");
  const parsedConfig = AgentConfig.safeParse({
    name: "Agent",
    model: "claude-sonnet-5-5",
    ...config,
    tool_schemas: all.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
  });
  if (!parsedConfig.success) {
    const [issue] = parsedConfig.error.issues;
    throw new KnownError("invalid", `${issue?.path.join(".")}: ${issue?.message}`);
  }
  const agent: SessionAgent = {
    id: derivedId("agent", parsedConfig.data.name),
    version: 1,
    status: "active",
    config: parsedConfig.data,
  };
  return { agent, tools: byName, validate, memory };
}

/** An agent as a tool of another: its own session, and an await of the caller's. */
function asTool(agent: Agent): Tool {
  const description = parts.get(agent)?.[0]?.agent.config.description;
  return defineTool({
    name: agent.name.replaceAll(/[^a-zA-Z0-9_-]/g, "_"),
    description: description ?? `Hands a task to the agent "${agent.name}" and waits for its answer.`,
    input: z.object({ prompt: z.string().describe("What to do, with everything that the agent needs to know.") }),
    executor: "subagent",
    subagent: agent.name,
  });
}

async function open(options: AgentOptions, agents: readonly RegisteredAgent[]): Promise<Opened> {
  const config = readConfig();
  const { model, close: closeModel } = await modelFrom({
    anthropicApiKey: options.apiKey ?? config.anthropicApiKey,
    anthropicBaseUrl: options.baseUrl ?? config.anthropicBaseUrl,
  });
  const given = options.store ?? config.storeUrl ?? "memory:";
  const store = typeof given === "string" ? await openStore(given) : given;
  const host = createHost({ store, model, agents, ...(options.leaseMs !== undefined && { leaseMs: options.leaseMs }) });
  return {
    host,
    async close() {
      await host.stop();
      if (typeof given === "string") await store.close();
      await closeModel();
    },
  };
}
