import { ClaudeSettings } from "@skein/adapters/runtimes/claude-code/policy";
import { type FoundSkill, findSkills } from "@skein/adapters/skills";
import { Policy, type Records, SKILL_TOOL, type Tool, createAgents, derivedId, parseInput } from "@skein/core";
import { KnownError, isKnownError } from "@skein/protocol";
import type { Limits, RetentionDays } from "@skein/server";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Agent } from "../agent-interface.ts";
import type { RegisteredAgent } from "../host.ts";
import { importFile } from "../import-file.ts";
import { refuseUnknown } from "../known-options.ts";
import { isAgent, refuseProcessOptions, registrationsOf } from "../registration.ts";
import { type ConfiguredModels, type GivenModels, configuredModels } from "../model-catalog.ts";
import { checkedLimits } from "./limits.ts";
import { checkedRetention } from "./retention.ts";

/** The default export of `skein.config.ts`. */
export interface SkeinConfig {
  /** Agents made with `createAgent`. They are stored when the server starts, with their tools. */
  readonly agents?: readonly Agent[];
  /** Tools that agents may use if they were made over HTTP. */
  readonly tools?: readonly Tool[];
  /** Folders with skills. An agent made over HTTP names a skill or a folder. */
  readonly skills?: readonly string[];
  /** The options of Claude Code that requests may use. Options that are left out are not allowed. */
  readonly claude?: z.input<typeof ClaudeSettings>;
  /** The limits of each key and of the server. SKEIN_LIMITS takes precedence. */
  readonly limits?: Partial<Limits>;
  /**
   * Days that sessions are kept after their last event, by tenant. `*` stands for tenants without an entry.
   * SKEIN_RETENTION takes precedence.
   */
  readonly retention?: RetentionDays;
  /** The runtimes, tools, models, folders and hosts that keys may use, and whether programs run in a sandbox. */
  readonly policy?: z.input<typeof Policy>;
  /** Models of other providers by name (`provider/name`), with their addresses. */
  readonly models?: GivenModels;
}

export interface ServedCode {
  readonly agents: readonly RegisteredAgent[];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly skills?: readonly FoundSkill[];
  readonly claude: ClaudeSettings;
  readonly limits?: Partial<Limits>;
  readonly retention?: RetentionDays;
  readonly policy: Policy;
  readonly models?: ConfiguredModels;
}

export async function loadCode(file: string | undefined): Promise<ServedCode> {
  if (file === undefined) return codeOf({});
  const loaded: { readonly default?: SkeinConfig | null } = await importFile(file);
  if (typeof loaded.default !== "object" || loaded.default === null)
    throw new KnownError(
      "invalid",
      `${file} ${"default" in loaded ? "exports no object as default" : "has no default export"}. Expected: export default { agents: […], tools: […] }.`,
    );
  refuseUnknown(
    loaded.default,
    ["agents", "tools", "skills", "claude", "limits", "retention", "policy", "models"],
    file,
  );
  try {
    return codeOf(loaded.default);
  } catch (error) {
    if (!isKnownError(error)) throw error;
    throw new KnownError(error.code, `${file}: ${error.message}`, { cause: error });
  }
}

/** Checks the content of a config file. Unknown fields are rejected. */
export function codeOf({
  agents = [],
  tools = [],
  skills = [],
  claude = {},
  limits = {},
  retention = {},
  policy = {},
  models = {},
}: SkeinConfig): ServedCode {
  if (!Array.isArray(agents) || !Array.isArray(tools))
    throw new KnownError("invalid", "agents and tools must be lists: agents: [createAgent({ … })].");
  const registered = [...new Set(agents.flatMap(madeByCreateAgent))];
  const names = registered.map(({ agent }) => agent.config.name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new KnownError("invalid", `agents: Two agents have the name "${twice}".`);
  for (const tool of tools as readonly Partial<Tool>[])
    if (typeof tool?.name !== "string" || typeof tool.inputSchema !== "object")
      throw new KnownError("invalid", "tools: Each tool must be made by defineTool({ … }).");
  if (!Array.isArray(skills) || skills.some((folder) => typeof folder !== "string"))
    throw new KnownError("invalid", 'skills must be a list of folders: skills: ["./skills"].');
  const ofAgents = registered.flatMap((one) => [...one.tools.values()]);
  // The skill tool of an agent loads only that agent's skills, so other agents must not use this tool.
  const all = [...tools, ...ofAgents.filter(({ name }) => name !== SKILL_TOOL)];
  return {
    agents: registered,
    tools: new Map(all.map((tool) => [tool.name, tool])),
    skills: findSkills(skills),
    claude: parseInput(z.object({ claude: ClaudeSettings }), { claude }).claude,
    limits: checkedLimits(limits, "limits"),
    retention: checkedRetention(retention, "retention"),
    policy: parseInput(z.object({ policy: Policy }), { policy }).policy,
    models: configuredModels(models),
  };
}

function madeByCreateAgent(agent: Agent): readonly RegisteredAgent[] {
  const registered = registrationsOf(agent);
  if (registered.length === 0)
    throw new KnownError(
      "invalid",
      isAgent(agent)
        ? `agents: "${agent.name}" was made by createAgent of another copy of the package skein. A server only serves agents of its own copy. Start the copy that this file imports: "npx skein serve" in its project.`
        : "agents: Each agent must be made by createAgent({ … }).",
    );
  refuseProcessOptions(agent);
  return registered;
}

/** Stores the agents of `skein.config.ts`. An agent keeps its id at every start. A changed agent gets a new version. */
export async function storeAgents(agents: readonly RegisteredAgent[], records: Records): Promise<void> {
  for (const { agent } of agents) {
    const id = derivedId("agent", agent.config.name);
    const stored = createAgents({ records, ids: () => id });
    try {
      const known = await stored.get(id);
      if (!isDeepStrictEqual(known.config, agent.config)) await stored.patch(id, agent.config);
    } catch (error) {
      if (!isKnownError(error, "not_found")) throw error;
      await stored.create(agent.config);
    }
  }
}
