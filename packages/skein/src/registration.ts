import { findSkills } from "@skein/adapters/skills";
import {
  HOOK_NAMES,
  type SessionAgent,
  type Tool,
  checkAgentSettings,
  createSkillTool,
  defineTool,
  derivedId,
  outputCheck,
  parseInput,
} from "@skein/core";
import { KnownError, NewAgentConfig, isKnownError } from "@skein/protocol";
import { z } from "zod";
import type { Agent, AgentOptions } from "./agent-interface.ts";
import type { RegisteredAgent } from "./host.ts";
import { refuseUnknown } from "./known-options.ts";
import { checkPartShapes } from "./part-shapes.ts";

/** The registrations of each agent and its subagents. The agent is the first in its list. */
const parts = new WeakMap<Agent, readonly RegisteredAgent[]>();
const optionsOf = new WeakMap<Agent, AgentOptions>();

export function register(agent: Agent, registered: readonly RegisteredAgent[], options: AgentOptions): void {
  parts.set(agent, registered);
  optionsOf.set(agent, options);
}

/** Options that are valid for the whole process, each with what replaces it on a server. */
const PROCESS_OPTIONS = {
  store: "--store or SKEIN_STORE_URL",
  files: "--files or SKEIN_FILES",
  models: "models in skein.config.ts",
  apiKey: "ANTHROPIC_API_KEY",
  baseUrl: "ANTHROPIC_BASE_URL",
  silenceMs: "a separate program",
  leaseMs: "a separate program",
} satisfies Partial<Record<keyof AgentOptions, string>>;
const PROCESS_OPTION_NAMES = Object.keys(PROCESS_OPTIONS) as readonly (keyof typeof PROCESS_OPTIONS)[];

/**
 * Rejects a server's agent that sets a process option, such as `store`. The server sets these options for all agents.
 */
export function refuseProcessOptions(agent: Agent): void {
  const options = optionsOf.get(agent) ?? {};
  for (const name of PROCESS_OPTION_NAMES)
    if (options[name] !== undefined)
      throw new KnownError(
        "invalid",
        `agents: "${agent.name}" sets ${name}, which a server has once for all its agents. Remove it from the agent and use ${PROCESS_OPTIONS[name]}.`,
      );
  for (const subagent of options.subagents ?? []) refuseProcessOptions(subagent);
}

/** Rejects a subagent that sets a process option differently from its caller, because both run in the same process. */
function refuseOtherProcess(options: AgentOptions): void {
  for (const subagent of options.subagents ?? [])
    for (const name of PROCESS_OPTION_NAMES) {
      const wanted = optionsOf.get(subagent)?.[name];
      if (wanted !== undefined && wanted !== options[name])
        throw new KnownError(
          "invalid",
          `The subagent "${subagent.name}" sets ${name}, but a subagent runs with the ${name} of its caller. Give both the same ${name}, or set it on the caller alone.`,
        );
    }
}

/** Whether a value is an agent, of this or of another installed copy of the package. */
export function isAgent(value: object): value is Agent {
  const { run, stream, sessions } = value as Partial<Agent>;
  return typeof run === "function" && typeof stream === "function" && typeof sessions === "function";
}

/** Returns the registrations of an agent and its subagents. */
export function registrationsOf(agent: Agent): readonly RegisteredAgent[] {
  return parts.get(agent) ?? [];
}

/**
 * Makes the registrations of the agent with these options and of all its subagents. The agent is the first. Throws
 * `invalid` for wrong options.
 */
export function registrations(options: AgentOptions): readonly [RegisteredAgent, ...RegisteredAgent[]] {
  const own = registration(options);
  const others = new Set((options.subagents ?? []).flatMap(registrationsOf));
  const all = [own, ...others] as const;
  refuseNamesakes(all);
  refuseOtherProcess(options);
  return all;
}

/** Options that are not fields of an agent's configuration. */
const OWN_OPTIONS = [
  "tools",
  "subagents",
  "skills",
  "validate",
  "hooks",
  "output",
  "memory",
  "files",
  "store",
  "models",
  "apiKey",
  "baseUrl",
  "silenceMs",
  "leaseMs",
] satisfies (keyof AgentOptions)[];

function registration(options: AgentOptions): RegisteredAgent {
  const {
    tools = [],
    subagents = [],
    skills: folders = [],
    validate,
    hooks,
    output,
    memory,
    files: _f,
    store: _s,
    models: _n,
    apiKey: _k,
    baseUrl: _b,
    silenceMs: _m,
    leaseMs: _l,
    ...config
  } = options;
  const { tool_schemas: _t, output_schema: _o, skills: _i, ...known } = NewAgentConfig.shape;
  refuseUnknown(options, [...OWN_OPTIONS, ...Object.keys(known)], "createAgent");
  checkParts(options);
  checkPartShapes(options);
  const check = output && outputCheck(output);
  const skills = findSkills(folders);
  const all = [...tools, ...subagents.map(asTool), ...(skills.length > 0 ? [createSkillTool(skills)] : [])];
  const byName = new Map(all.map((tool) => [tool.name, tool]));
  if (byName.size < all.length) throw new KnownError("invalid", "Two tools of an agent have the same name.");
  const parsedConfig = checkedConfig({
    name: "Agent",
    model: "claude-sonnet-5-5",
    ...config,
    ...(memory && { memory_store_type: "none" }),
    ...(check && { output_schema: check.schema }),
    ...(skills.length > 0 && { skills: skills.map(({ name, description }) => ({ name, description })) }),
    tool_schemas: all.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
  });
  checkAgentSettings(parsedConfig);
  const agent: SessionAgent = {
    id: derivedId("agent", parsedConfig.name),
    version: 1,
    status: "active",
    // If the agent has a custom memory, the type in the configuration is the type of this memory.
    config: { ...parsedConfig, ...(memory && { memory_store_type: memory.type }) },
  };
  return { agent, tools: byName, validate, hooks, output: check, memory };
}

/** Checks the configuration of an agent. An error has the agent's name, because a file may have several agents. */
function checkedConfig(config: Readonly<Record<string, unknown>>): z.output<typeof NewAgentConfig> {
  try {
    return parseInput(NewAgentConfig, config);
  } catch (error) {
    if (!isKnownError(error)) throw error;
    throw new KnownError("invalid", `The agent ${JSON.stringify(config["name"])}: ${error.message}`, { cause: error });
  }
}

/**
 * Checks the types of options, for callers without TypeScript. Without this check, a wrong option would cause an error
 * only later, in other code.
 */
function checkParts({ tools = [], subagents = [], skills = [], validate, hooks = {} }: AgentOptions): void {
  const refuse = (sentence: string): never => {
    throw new KnownError("invalid", sentence);
  };
  for (const [name, list] of Object.entries({ tools, subagents })) {
    if ((list as unknown) instanceof Promise) refuse(`"${name}" is a promise. Write ${name}: await …`);
    if (!Array.isArray(list)) refuse(`"${name}" must be a list.`);
  }
  if (!Array.isArray(skills) || skills.some((folder) => typeof folder !== "string"))
    refuse('"skills" must be a list of folders: skills: ["./skills"].');
  const noTool = tools.findIndex((tool) => typeof tool?.parse !== "function" || typeof tool.run !== "function");
  if (noTool !== -1) refuse(`tools[${noTool}] is not a tool. Make it with defineTool.`);
  const noAgent = subagents.findIndex((agent) => !parts.has(agent));
  if (noAgent !== -1) refuse(`subagents[${noAgent}] is not an agent. Make it with createAgent.`);
  for (const [name, hook] of Object.entries(hooks)) {
    if (!(HOOK_NAMES as readonly string[]).includes(name))
      refuse(`hooks: There is no hook "${name}". There are ${HOOK_NAMES.join(", ")}.`);
    if (typeof hook !== "function") refuse(`hooks: "${name}" must be a function.`);
  }
  if (validate !== undefined && typeof validate !== "function") refuse('"validate" must be a function.');
}

/** Rejects two agents with the same name, because a session finds its agent by name. */
function refuseNamesakes(agents: readonly RegisteredAgent[]): void {
  const names = agents.map(({ agent }) => agent.config.name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice === undefined) return;
  throw new KnownError(
    "invalid",
    `Two agents are called "${twice}". Give each agent and each subagent a name of its own.`,
  );
}

/** Makes a tool that calls a subagent. A call creates a separate session, and the caller waits for its answer. */
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
