import { type Answered, type SessionState, type Tool, type ToolResult, openAwaits } from "@skein/core";
import { type Content, type Event, formatStream, Formatter, KnownError } from "@skein/protocol";
import type { Agent, AgentOptions, RunOptions, WatchOptions } from "./agent-interface.ts";
import { readConfig, saySimulationOnce, simulationChoice } from "./config.ts";
import type { Watched } from "./follow-run.ts";
import { type Host, type RegisteredAgent, createHost } from "./host.ts";
import { checkSessionId, refuseUnknown, refuseUnknownListeners } from "./known-options.ts";
import { configuredModels } from "./model-catalog.ts";
import { isClaudeName } from "./model-providers.ts";
import { catalogWith } from "./open-catalog.ts";
import { checkModelAddress, openModel } from "./open-model.ts";
import { openFiles } from "./open-files.ts";
import { openMemories } from "./open-memories.ts";
import { openStore } from "./open-store.ts";
import type { PartialDraft } from "./partial-output.ts";
import { register, registrations } from "./registration.ts";
import { type AgentResult, runOutcome } from "./agent-result.ts";
import { secretsSettings } from "./serve/secrets-settings.ts";
import { streamItems, streamRun } from "./stream.ts";

export { importFile } from "./import-file.ts";
export { isAgent } from "./registration.ts";

const RUN_OPTIONS = ["sessionId", "signal", "onEvent", "maxCostMicros", "model", "mode"] satisfies (keyof RunOptions)[];
const WATCH_OPTIONS = ["signal", "onEvent"] satisfies (keyof WatchOptions)[];

interface Opened {
  readonly host: Host;
  readonly close: () => Promise<void>;
}

const optionsOfAgents = new WeakMap<Agent, AgentOptions>();

/**
 * Makes an agent from a prompt, a model and tools.
 *
 * The store and the model are opened at the first run. Without an API key and without a base URL, the model is
 * simulated.
 */
export function createAgent<Output = unknown, Tools extends readonly Tool[] = readonly Tool[]>(
  options: AgentOptions<Output, Tools> = {},
): Agent<Output, Tools> {
  const all = registrations(options);
  const [registered] = all;
  let opening: Promise<Opened> | undefined;
  let isClosed = false;
  async function openOnce(): Promise<Opened> {
    if (isClosed)
      throw new KnownError(
        "closed",
        "This agent was closed. Call close() after the last run, or create another agent.",
      );
    return (opening ??= open(options, all).catch((error: unknown) => {
      // The next run opens the store again, because the database may be available later.
      opening = undefined;
      throw error;
    }));
  }

  async function opened(): Promise<Opened> {
    const open = await openOnce();
    open.host.start();
    return open;
  }

  async function begin(prompt: Content, run: RunOptions): Promise<Watched> {
    refuseUnknown(run, RUN_OPTIONS, "A run");
    refuseUnknownListeners(run.onEvent);
    if (run.sessionId !== undefined) checkSessionId(run.sessionId, "A run with sessionId");
    const { sessionId, maxCostMicros, model, mode, signal, onEvent } = run;
    const { host } = await opened();
    if (sessionId !== undefined && (await host.sessions.get(sessionId)).agent_id !== registered.agent.id)
      await servedState(host, sessionId);
    const input = {
      content: prompt,
      ...(maxCostMicros !== undefined && { maxCostMicros }),
      ...(model !== undefined && { model }),
      ...(mode !== undefined && { mode }),
    };
    const accepted =
      sessionId === undefined
        ? await host.sessions.begin(registered.agent, input)
        : await host.sessions.prompt(sessionId, input);
    return {
      host,
      sessionId: accepted.sessionId,
      runId: accepted.runId,
      // The run in progress reads a steering prompt, so the earlier events of that run are needed.
      after: sessionId === undefined || mode === "steer" ? 0 : accepted.sequence - 1,
      shownAfter: sessionId === undefined ? 0 : accepted.sequence - 1,
      stopsBehind: mode === "steer",
      signal,
      onEvent,
    };
  }

  /** Continues a session, and returns what is needed to watch the run of its last prompt. */
  async function watchCurrentRun(sessionId: string): Promise<Watched> {
    checkSessionId(sessionId, "resume or follow");
    const { host } = await openOnce();
    const { queue, sequence } = await servedState(host, sessionId);
    const runId = queue.at(-1)?.run_id ?? (await lastRun(host, sessionId));
    host.start();
    host.engine.wake(sessionId);
    return { host, sessionId, runId, after: 0, shownAfter: sequence, stopsBehind: true };
  }

  /** Adds `output` to the result: the answer in the type of the agent's `output`. */
  async function typed<Result extends AgentResult>(result: Result): Promise<Result & AgentResult<Output, Tools>> {
    const isAnswer = result.error === null && result.awaiting.length === 0 && result.stopReason !== "cancelled";
    const read = isAnswer ? await registered.output?.read(result.finalAnswer) : undefined;
    // The answer of a completed run may be cut off or refused. Such an answer does not fit the type.
    const output = read && "output" in read ? (read.output as Output) : null;
    // The loop has checked each result against its tool's schema.
    return { ...result, output, toolResults: result.toolResults as readonly ToolResult<Tools>[] };
  }

  /** Changes only the type, because partial answers are not checked. */
  const partly = (items: AsyncIterable<Event | PartialDraft<unknown>>): AsyncIterable<Event | PartialDraft<Output>> =>
    items as AsyncIterable<Event | PartialDraft<Output>>;

  const agent: Agent<Output, Tools> = {
    name: registered.agent.config.name,
    async run(prompt, run = {}) {
      return typed(await runOutcome(await begin(prompt, run)));
    },
    async *stream(prompt, run = {}) {
      yield* partly(streamRun(await begin(prompt, run), registered.output !== undefined));
    },
    async *text(prompt, { format, ...run } = {}) {
      // The format is checked before the prompt is sent, because a run costs money.
      if (format !== undefined && !Formatter.safeParse(format).success)
        throw new KnownError("invalid", `"${format as string}" is not a format. Expected json, xml or raw.`);
      const { formatter, stream_meta_history_and_tool_results: meta } = registered.agent.config;
      const { host } = await opened();
      const history = meta && run.sessionId !== undefined ? await host.sessions.transcript(run.sessionId) : [];
      yield* formatStream(format ?? formatter, streamItems(await begin(prompt, run)), { meta, history });
    },
    async answer(sessionId, given, run = {}) {
      refuseUnknown(run, WATCH_OPTIONS, "An answer");
      refuseUnknownListeners(run.onEvent);
      checkSessionId(sessionId, "answer");
      const { host } = await opened();
      await servedState(host, sessionId);
      const runId = await lastRun(host, sessionId);
      const open = (await openAwaits(host, sessionId))?.forSomebody ?? [];
      const answers: Answered[] = [];
      for (const { toolUseId, content, isError = false } of given) {
        const waiting = open.find(({ tool_use_id }) => tool_use_id === toolUseId)?.session_id ?? sessionId;
        answers.push(await host.sessions.answer(waiting, toolUseId, { content, isError }));
      }
      if (answers.every(({ disposition }) => disposition === "refused"))
        throw new KnownError(
          "not_awaiting",
          answers.map(({ reason }) => reason).join(" ") || "Expected at least one answer.",
        );
      const shownAfter = Math.min(...answers.map(({ sequence }) => sequence ?? Number.POSITIVE_INFINITY)) - 1;
      return { ...(await typed(await runOutcome({ host, sessionId, runId, after: 0, shownAfter, ...run }))), answers };
    },
    async resume(sessionId, run = {}) {
      refuseUnknown(run, WATCH_OPTIONS, "A resumed run");
      refuseUnknownListeners(run.onEvent);
      return typed(await runOutcome({ ...(await watchCurrentRun(sessionId)), ...run }));
    },
    async *follow(sessionId, { signal } = {}) {
      yield* partly(streamRun({ ...(await watchCurrentRun(sessionId)), signal }, registered.output !== undefined));
    },
    sessions: async () => (await opened()).host.sessions,
    async close() {
      const open = opening;
      opening = undefined;
      isClosed = true;
      // If the opening failed, an earlier call has thrown its error.
      await (await open?.catch(() => undefined))?.close();
    },
  };
  register(agent, all, options);
  optionsOfAgents.set(agent, options);
  return agent;
}

/**
 * Returns the same agent with other options, because the command line sets the store. Returns undefined for an agent
 * that `createAgent` did not make.
 */
export function agentWith(agent: Agent, change: (options: AgentOptions) => AgentOptions): Agent | undefined {
  const options = optionsOfAgents.get(agent);
  return options && createAgent(change(options));
}

/** Rejects a session if this process lacks its tools or its runtime, because the session would wait for ever. */
async function servedState(host: Host, sessionId: string): Promise<SessionState> {
  const state = await host.sessions.state(sessionId);
  const { name = "", tool_schemas = [], runtime = "loop" } = state.agent ?? {};
  if (runtime !== "loop")
    throw new KnownError(
      "invalid",
      `Session ${sessionId} is a session of Claude Code, which only a server can continue. Start "skein serve", and use its API or "skein run --server http://127.0.0.1:7433 --session ${sessionId}".`,
    );
  if (tool_schemas.length > 0 && !host.knows(name))
    throw new KnownError("invalid", `Session ${sessionId} belongs to the agent "${name}", not to this agent.`);
  return state;
}

/** Returns the run in progress. If no run is in progress, returns the last run. */
async function lastRun(host: Host, sessionId: string): Promise<string> {
  const [last] = (await host.sessions.runs(sessionId, { limit: 1 })).items;
  if (!last) throw new KnownError("not_running", `Session ${sessionId} has no run to continue.`);
  return last.id;
}

async function open(options: AgentOptions, agents: readonly RegisteredAgent[]): Promise<Opened> {
  const config = readConfig();
  const address = options.baseUrl ?? config.anthropicBaseUrl;
  checkModelAddress(address);
  // The store is opened before the model. If the store cannot be opened, nothing has to be closed.
  const given = options.store ?? config.storeUrl ?? "memory:";
  const configured = configuredModels(options.models ?? {});
  const { vault } = secretsSettings(config.secrets, process.cwd());
  const files = typeof options.files === "string" ? await openFiles(options.files, config.s3) : options.files;
  const store = typeof given === "string" ? await openStore(given, { files }) : given;
  const opened = openModel({
    anthropicApiKey: options.apiKey ?? config.anthropicApiKey,
    // An API key in the agent's options replaces the token of the environment.
    anthropicAuthToken: options.apiKey === undefined ? config.anthropicAuthToken : undefined,
    anthropicBaseUrl: address,
    silenceMs: options.silenceMs,
    ...simulationChoice(config),
  });
  const claude = await opened.catch(async (error: unknown) => {
    if (typeof given === "string") await store.close();
    throw error;
  });
  if (claude.simulated && agents.some(({ agent }) => isClaudeName(agent.config.model)))
    saySimulationOnce(config, (sentence) => void process.stderr.write(`${sentence}\n`));
  const memories = await openMemories(agents, typeof given === "string" ? given : "memory:");
  const host = createHost({
    store,
    models: catalogWith(claude, { store, vault, configured, silenceMs: options.silenceMs }),
    agents,
    files,
    memoryNamed: memories.named,
    memories: memories.all,
    startsLater: true,
    // Unexpected errors become warnings and do not end the process.
    report: (error) => process.emitWarning(error instanceof Error ? error : String(error)),
    ...(options.leaseMs !== undefined && { leaseMs: options.leaseMs }),
  });
  return {
    host,
    async close() {
      await host.stop();
      await memories.close();
      if (typeof given === "string") await store.close();
      await claude.close();
    },
  };
}
