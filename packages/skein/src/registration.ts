import { type SessionAgent, type Tool, defineTool, derivedId } from "@skein/core";
import { type AgentConfig, KnownError, NewAgentConfig } from "@skein/protocol";
import { z } from "zod";
import type { Agent, AgentOptions } from "./agent-interface.ts";
import type { RegisteredAgent } from "./host.ts";
import { refuseUnknown } from "./known-options.ts";
import { checkPartShapes } from "./part-shapes.ts";

/** The parts of an agent that another one needs to call it, itself first. */
const parts = new WeakMap<Agent, readonly RegisteredAgent[]>();
const optionsOf = new WeakMap<Agent, AgentOptions>();

export function register(agent: Agent, registered: readonly RegisteredAgent[], options: AgentOptions): void {
  parts.set(agent, registered);
  optionsOf.set(agent, options);
}

/** Options that are about the process which drives an agent, and what a server has in their place. */
const PROCESS_OPTIONS = {
  store: "--store or SKEIN_STORE_URL",
  files: "--files or SKEIN_FILES",
  apiKey: "ANTHROPIC_API_KEY",
  baseUrl: "ANTHROPIC_BASE_URL",
  silenceMs: "a program of its own",
  leaseMs: "a program of its own",
} satisfies Partial<Record<keyof AgentOptions, string>>;
const PROCESS_OPTION_NAMES = Object.keys(PROCESS_OPTIONS) as readonly (keyof typeof PROCESS_OPTIONS)[];

/** Refuses an agent of a server that brings its own store, files or model: a server has one of each for all agents. */
export function refuseProcessOptions(agent: Agent): void {
  const options = optionsOf.get(agent) ?? {};
  for (const name of PROCESS_OPTION_NAMES)
    if (options[name] !== undefined)
      throw new KnownError(
        "invalid",
        `agents: "${agent.name}" sets ${name}, which a server has once for all its agents. Remove it there and use ${PROCESS_OPTIONS[name]}.`,
      );
  for (const subagent of options.subagents ?? []) refuseProcessOptions(subagent);
}

/** Refuses a subagent that asks for another store, files or model than its caller: it runs in its caller's process. */
function refuseOtherProcess(options: AgentOptions): void {
  for (const subagent of options.subagents ?? [])
    for (const name of PROCESS_OPTION_NAMES) {
      const wanted = optionsOf.get(subagent)?.[name];
      if (wanted !== undefined && wanted !== options[name])
        throw new KnownError(
          "invalid",
          `The subagent "${subagent.name}" sets ${name}, and runs with its caller's. Give both the same ${name}, or set it on the caller alone.`,
        );
    }
}

/** What an agent and its subagents are made of, for a process that serves them. */
export function registrationsOf(agent: Agent): readonly RegisteredAgent[] {
  return parts.get(agent) ?? [];
}

/** What options make: the agent itself first, then its subagents and theirs. Mistakes are sentences. */
export function registrations(options: AgentOptions): readonly [RegisteredAgent, ...RegisteredAgent[]] {
  const own = registration(options);
  const others = new Set((options.subagents ?? []).flatMap(registrationsOf));
  const all = [own, ...others] as const;
  refuseNamesakes(all);
  refuseOtherProcess(options);
  return all;
}

/** What of an agent is no configuration. */
const OWN_OPTIONS = [
  "tools",
  "subagents",
  "validate",
  "memory",
  "files",
  "store",
  "apiKey",
  "baseUrl",
  "silenceMs",
  "leaseMs",
] satisfies (keyof AgentOptions)[];

function registration(options: AgentOptions): RegisteredAgent {
  const {
    tools = [],
    subagents = [],
    validate,
    memory,
    files: _f,
    store: _s,
    apiKey: _k,
    baseUrl: _b,
    silenceMs: _m,
    leaseMs: _l,
    ...config
  } = options;
  const { tool_schemas: _t, ...known } = NewAgentConfig.shape;
  refuseUnknown(options, [...OWN_OPTIONS, ...Object.keys(known)], "createAgent");
  checkParts(options);
  checkPartShapes(options);
  const all = [...tools, ...subagents.map(asTool)];
  const byName = new Map(all.map((tool) => [tool.name, tool]));
  if (byName.size < all.length) throw new KnownError("invalid", "Two tools of an agent have the same name.");
  const parsedConfig = NewAgentConfig.safeParse({
    name: "Agent",
    model: "claude-sonnet-5-5",
    ...config,
    ...(memory && { memory_store_type: "none" }),
    tool_schemas: all.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
  });
  if (!parsedConfig.success) {
    const [issue] = parsedConfig.error.issues;
    throw new KnownError("invalid", `${issue?.path.join(".")}: ${issue?.message}`);
  }
  checkSampling(parsedConfig.data);
  const agent: SessionAgent = {
    id: derivedId("agent", parsedConfig.data.name),
    version: 1,
    status: "active",
    // A memory of the program's own has a name of its own.
    config: { ...parsedConfig.data, ...(memory && { memory_store_type: memory.type }) },
  };
  return { agent, tools: byName, validate, memory };
}

/** What no model takes together with a budget for thinking: said before the first run has to fail of it. */
function checkSampling({ thinking_tokens, api_kwargs }: AgentConfig): void {
  if (thinking_tokens === 0) return;
  const { temperature = 1, top_p = 1, top_k } = api_kwargs;
  const refused = temperature !== 1 ? "temperature" : top_k !== undefined ? "top_k" : undefined;
  if (refused !== undefined)
    throw new KnownError(
      "invalid",
      `api_kwargs.${refused} cannot be set when thinking_tokens is: leave one of them out.`,
    );
  if (!(Number(top_p) >= 0.95))
    throw new KnownError("invalid", "api_kwargs.top_p must be 0.95 to 1 when thinking_tokens is set.");
}

/** What types would refuse, for whoever writes without them: a mistake here would show up far away. */
function checkParts({ tools = [], subagents = [], validate }: AgentOptions): void {
  const refuse = (sentence: string): never => {
    throw new KnownError("invalid", sentence);
  };
  for (const [name, list] of Object.entries({ tools, subagents })) {
    if ((list as unknown) instanceof Promise) refuse(`"${name}" is a promise. Write ${name}: await …`);
    if (!Array.isArray(list)) refuse(`"${name}" must be a list.`);
  }
  const noTool = tools.findIndex((tool) => typeof tool?.parse !== "function" || typeof tool.run !== "function");
  if (noTool !== -1) refuse(`tools[${noTool}] is no tool. Make it with defineTool.`);
  const noAgent = subagents.findIndex((agent) => !parts.has(agent));
  if (noAgent !== -1) refuse(`subagents[${noAgent}] is no agent. Make it with createAgent.`);
  if (validate !== undefined && typeof validate !== "function") refuse('"validate" must be a function.');
}

/** A session finds its agent by name, so two of one name would be taken for each other. */
function refuseNamesakes(agents: readonly RegisteredAgent[]): void {
  const names = agents.map(({ agent }) => agent.config.name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice === undefined) return;
  throw new KnownError(
    "invalid",
    `Two agents are called "${twice}". Give each agent and each subagent a name of its own.`,
  );
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
