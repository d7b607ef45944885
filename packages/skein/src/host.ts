import { timers } from "@skein/adapters/engines/timers";
import {
  type AgentCode,
  type Bus,
  type Cap,
  type Engine,
  type EngineFactory,
  type FileStore,
  type Hooks,
  type LargeSessions,
  type Live,
  type LoopDeps,
  type AgentMemory,
  type ModelCatalog,
  type OutputCheck,
  type Parking,
  type RunOwner,
  type Runtime,
  type SessionAgent,
  type SessionState,
  type Sessions,
  type SessionsDeps,
  type SpendGate,
  type StateCache,
  type Store,
  type Tool,
  type Validate,
  type Skill,
  LONGEST_SLEEP,
  SKILL_TOOL,
  missingSkills,
  capRuns,
  createBusLive,
  createLargeSessions,
  createLoop,
  createMemoryLive,
  createParking,
  createRuntimes,
  createSessions,
  createSkillTool,
  createSpendGate,
  createSpendLedger,
  createStateCache,
  createSubagents,
  defineTool,
  jsonOutputCheck,
  nudgeOthers,
  publishSessionStatus,
} from "@skein/core";
import { type AgentConfig, type Ids, createIds } from "@skein/protocol";
import { chooseEngine } from "./engine.ts";

/** An agent with the code of its tools and checks. */
export interface RegisteredAgent {
  readonly agent: SessionAgent;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly validate?: Validate | undefined;
  readonly hooks?: Hooks | undefined;
  /** Checks a final answer against the agent's `output` type, and parses it. */
  readonly output?: OutputCheck<unknown> | undefined;
  readonly memory?: AgentMemory | undefined;
}

export interface HostOptions {
  readonly store: Store;
  readonly models: ModelCatalog;
  readonly agents: readonly RegisteredAgent[];
  /** Tools of this process that agents in the store may use. Such agents were made over HTTP, without code. */
  readonly tools?: ReadonlyMap<string, Tool>;
  /** Skills that agents in the store may use. */
  readonly skills?: readonly Skill[];
  /** If true, this process leaves a session to other processes if it cannot use the session's model. */
  readonly leavesUnusable?: boolean | undefined;
  readonly files?: FileStore | undefined;
  /** Returns the agent memory with this name, for agents without custom memory. */
  readonly memoryNamed?: ((type: string) => AgentMemory | undefined) | undefined;
  /** All agent memories that an agent can use. */
  readonly memories?: readonly AgentMemory[] | undefined;
  readonly tenant?: string;
  /** Chooses where programs run that a model can control. Without this function, each tool makes its own choice. */
  readonly workplaceOf?: LoopDeps["workplaceOf"];
  readonly concurrency?: number;
  /** Tells whether the store has several tenants. If true, no tenant may use the whole process. */
  readonly isShared?: (() => boolean) | undefined;
  /** Returns the operator's caps for a run. */
  readonly capsOf?: ((owner: RunOwner) => readonly Cap[]) | undefined;
  readonly leaseMs?: number;
  /** Default: the local engine. */
  readonly engine?: EngineFactory | undefined;
  /** If true, the engine waits for `start`, so that callers can first subscribe to events. */
  readonly startsLater?: boolean;
  readonly report?: (error: unknown) => void;
  /** Carries drafts and notices of new events between machines with the same store. The caller closes the bus. */
  readonly bus?: Bus | undefined;
  /** Makes the runtimes other than the loop from the parts that all runtimes share. */
  readonly runtimes?: (parts: RuntimeParts) => ReadonlyMap<AgentConfig["runtime"], Runtime>;
}

/** The parts that all runtimes of a process share. */
export interface RuntimeParts {
  readonly store: Store;
  readonly states: StateCache;
  readonly live: Live;
  readonly now: () => number;
  readonly ids: Ids;
  readonly report: (error: unknown) => void;
  /** Reserves the possible cost of a model call before the call, if the operator's policy has caps. */
  readonly spend?: SpendGate | undefined;
}

/** Runs sessions in this process, with a store, a model, agents and an engine. */
export interface Host {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly live: Live;
  readonly engine: Engine;
  readonly models: ModelCatalog;
  /** Returns how many sessions this process runs now. */
  readonly driven: () => number;
  /** Parks sessions that fail repeatedly: they wait until a person retries or discards them. */
  readonly parking: Parking;
  /** Limits the memory that sessions with large messages use at once. */
  readonly largeSessions: Pick<LargeSessions, "figures" | "standing">;
  /** Removes the files and the agent memories of a session. */
  readonly forget: NonNullable<SessionsDeps["forget"]>;
  register(agent: RegisteredAgent): void;
  /** Starts to run sessions that have work to do. A second call changes nothing. */
  start(): void;
  /** Tells whether this process has the code of the agent with this name. */
  knows(agentName: string): boolean;
  /** Stops the engine, so that this process no longer runs sessions. The store stays open. */
  stop(): Promise<void>;
  /** Aborted after the host has stopped. This process no longer continues unfinished runs. */
  readonly stopped: AbortSignal;
}

/**
 * Returns the tools of a stored agent, including tools that its callers run. Returns undefined if this process lacks a
 * tool. Then another process must run the session.
 */
function toolsOf(agent: AgentConfig, own: ReadonlyMap<string, Tool>): ReadonlyMap<string, Tool> | undefined {
  const { frontend_tools: frontend } = agent.extras;
  const tools = new Map<string, Tool>();
  for (const { name, description, input_schema: input, timeout_ms: timeoutMs } of agent.tool_schemas) {
    const isFrontend = Array.isArray(frontend) && frontend.includes(name);
    const tool = isFrontend
      ? defineTool({ name, description, input, executor: "frontend", ...(timeoutMs !== undefined && { timeoutMs }) })
      : own.get(name);
    if (!tool) return undefined;
    tools.set(name, tool);
  }
  return tools;
}

type OwnCode = Pick<HostOptions, "tools" | "skills">;

/**
 * Returns the tools of this process for a stored agent. Adds the tool for skills if this process has all skills of the
 * agent.
 */
function ownTools(
  agent: AgentConfig | null,
  { tools = NO_CODE.tools, skills = [] }: OwnCode,
): ReadonlyMap<string, Tool> {
  const named = new Set(agent?.skills?.map(({ name }) => name));
  const own = skills.filter(({ name }) => named.has(name));
  return own.length === 0 || own.length < named.size ? tools : new Map([...tools, [SKILL_TOOL, createSkillTool(own)]]);
}

/** Returns a sentence that says which skills or tools this process lacks for a session. */
function missingOf({ agent }: SessionState, code: OwnCode): string {
  const skills = agent ? missingSkills(agent, code.skills?.map(({ name }) => name) ?? []) : [];
  if (skills.length > 0)
    return `No server has the skill ${skills.map((name) => `"${name}"`).join(", ")} of the agent "${agent?.name ?? ""}". Start a server whose skein.config.ts opens the folder of the skill.`;
  const own = ownTools(agent, code);
  const frontend = agent?.extras["frontend_tools"];
  const isThere = (name: string): boolean => (Array.isArray(frontend) && frontend.includes(name)) || own.has(name);
  const missing = agent?.tool_schemas.map(({ name }) => name).filter((name) => !isThere(name)) ?? [];
  const names = missing.map((name) => `"${name}"`).join(", ");
  return `No server has the tool ${names} of the agent "${agent?.name ?? ""}". Start a server whose skein.config.ts has the tool.`;
}

/** Connects this process to a bus. */
function onBus(bus: Bus, store: Store): { readonly live: Live; readonly leave: () => void } {
  const live = createBusLive({ bus });
  const stops = [nudgeOthers({ store, bus }), publishSessionStatus({ store, bus, now: Date.now }), () => live.close()];
  return { live, leave: () => stops.forEach((stop) => stop()) };
}

/** Keeps the process alive while a caller reads these items. */
async function* whileAwake<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const awake = setInterval(() => {}, LONGEST_SLEEP);
  try {
    yield* items;
  } finally {
    clearInterval(awake);
  }
}

/** Wraps a runtime, and counts the sessions that the runtime runs now. */
function counted(runtime: Runtime): { readonly runtime: Runtime; readonly driven: () => number } {
  let driven = 0;
  const drive: Runtime["drive"] = async (claimed, signal) => {
    driven += 1;
    await runtime.drive(claimed, signal).finally(() => (driven -= 1));
  };
  return { runtime: { ...runtime, drive }, driven: () => driven };
}

/** Returns the check of an agent's final answers: first their type, and then the function `validate` of the program. */
function checkOf({ output, validate }: Pick<RegisteredAgent, "output" | "validate">): Validate | undefined {
  if (!output) return validate;
  return async (answer, state) => {
    const read = await output.read(answer);
    return "problem" in read ? read.problem : validate?.(answer, state);
  };
}

const NO_CODE: AgentCode = { tools: new Map(), validate: undefined, memory: undefined };

export function createHost(options: HostOptions): Host {
  const { store, models, files, tenant = "default", report = () => {} } = options;
  const now = Date.now;
  const ids = createIds();
  const { live, leave } = options.bus ? onBus(options.bus, store) : { live: createMemoryLive(), leave: () => {} };
  const states = createStateCache({ store });
  const agents = new Map(options.agents.map((registered) => [registered.agent.config.name, registered]));
  const { capsOf } = options;
  const ledger = createSpendLedger({ records: store.records, now });
  const spend = capsOf && createSpendGate({ ledger, capsOf, timers, now });
  const shared: RuntimeParts = { store, states, live, now, ids, report, spend };
  const loop = createLoop({
    store,
    spend,
    states,
    models,
    live,
    files,
    workplaceOf: options.workplaceOf,
    subagents: createSubagents({ store, agentNamed: (name) => agents.get(name)?.agent, now, ids }),
    codeOf(state) {
      const registered = agents.get(state.agent?.name ?? "");
      const memory = registered?.memory ?? options.memoryNamed?.(state.agent?.memory_store_type ?? "none");
      if (registered)
        return { tools: registered.tools, validate: checkOf(registered), memory, hooks: registered.hooks };
      const tools = state.agent ? toolsOf(state.agent, ownTools(state.agent, options)) : undefined;
      const output = state.agent?.output_schema && jsonOutputCheck(state.agent.output_schema);
      return tools && { ...NO_CODE, tools, memory, validate: checkOf({ output }) };
    },
    leavesUnusable: options.leavesUnusable,
    missingOf: (state) => missingOf(state, options),
    timers,
    now,
    ids,
    random: Math.random,
    report,
  });
  const parking = createParking({ store, now, report });
  const largeSessions = createLargeSessions({ store, states, now, isShared: options.isShared });
  const wake = (sessionId: string): void => engine.wake(sessionId);
  const { runtime, driven } = counted(
    createRuntimes({
      store,
      states,
      now,
      ids,
      runtimes: new Map([["loop", loop], ...(options.runtimes?.(shared) ?? [])]),
      parking,
      bounded: largeSessions.bound,
      capped: capsOf && ((all) => capRuns(all, { store, states, now, ids, timers, ledger, capsOf, wake })),
    }),
  );
  const engine: Engine = chooseEngine(options.engine)({
    store,
    runtime,
    states,
    concurrency: options.concurrency,
    isShared: options.isShared,
    leaseMs: options.leaseMs,
    report,
  });
  const forget: Host["forget"] = async (session) => {
    await files?.deleteSession?.(session.sessionId);
    const own = [...agents.values()].flatMap(({ memory }) => memory ?? []);
    for (const memory of new Set([...own, ...(options.memories ?? [])])) await memory.forget?.(session);
  };
  const sessions = createSessions({ store, tenant, now, ids, reserve: engine.reserve, forget });
  const stopping = new AbortController();
  let started = false;
  const start = (): void => {
    if (!started) engine.start();
    started = true;
  };
  if (!options.startsLater) start();
  return {
    start,
    stopped: stopping.signal,
    store,
    sessions: { ...sessions, follow: (...which) => whileAwake(sessions.follow(...which)) },
    live,
    engine,
    models,
    driven,
    parking,
    largeSessions,
    forget,
    register: (registered) => void agents.set(registered.agent.config.name, registered),
    knows: (agentName) => agents.has(agentName),
    async stop() {
      await engine.stop();
      stopping.abort();
      leave();
      states.close();
    },
  };
}
