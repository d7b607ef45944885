import { SKILL_TOOL, type Skill, createSkillTool, defineTool } from "@skein/core";
import type { ToolSchema } from "@skein/protocol";
import {
  type Agent,
  type AgentConfig,
  type AgentInput,
  type AgentPatch,
  KnownError,
  isKnownError,
} from "@skein/protocol";
import type { z } from "zod";
import { ApiError } from "../../http/api-error.ts";
import type { RequestContext, Handlers } from "../../request-context.ts";
import { checkClaudeOptions } from "../claude/session-options.ts";
import { PLACES, cursorOf, placeOf } from "../../http/cursor.ts";
import { type Extras, USES_DEFAULT_MODEL, modelOfAgent } from "./model-of-message.ts";

type Tool = z.output<typeof ToolSchema>;

/** Routes for agents and their tools. */
export const agentHandlers = {
  async createAgent({ body }, call) {
    const { tools, frontend_tools, skills: names, default_model_id, model, extras, ...config } = body;
    checkRuntime(call, body.runtime);
    if (body.runtime === "claude-code") await checkClaudeOptions(call, extras["claude"] ?? {});
    const chosen = await modelOfAgent(call, { default_model_id, model }, extras);
    const skills = skillsNamed(call, names);
    const agent = await call.agents.create(
      {
        ...config,
        ...skillsPart(skills),
        default_model_id,
        model: chosen.model,
        tool_schemas: [...toolSchemas(call, tools, frontend_tools), ...skillSchema(skills)],
        extras: { ...chosen.extras, frontend_tools: frontend_tools.map(({ name }) => name) },
      },
      call.idempotency?.newId,
    );
    return tagged(call, agent);
  },
  async listAgents({ query: { cursor, limit, status, tag } }, { agents }) {
    const page = await agents.list({
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor: placeOf(cursor, PLACES.record) }),
      ...(status && { status }),
      ...(tag !== undefined && { tag }),
    });
    return { data: [...page.items], next_cursor: cursorOf(page.cursor) };
  },
  async getAgent({ params, query }, call) {
    const { agent_id } = params;
    const agent = await (query.version === undefined
      ? call.agents.get(agent_id)
      : call.agents.version(agent_id, query.version));
    return tagged(call, agent);
  },
  async listAgentVersions({ params, query: { limit, cursor } }, { agents }) {
    const page = await agents.versions(params.agent_id, {
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor: placeOf(cursor, PLACES.number) }),
    });
    return { data: [...page.items], next_cursor: cursorOf(page.cursor) };
  },
  async patchAgent({ params, body }, call) {
    const current = await call.agents.get(params.agent_id);
    const expected = expectedVersion(call, current);
    const { tools, frontend_tools, skills, default_model_id, model, extras: given, ...rest } = body;
    if (given && current.config.runtime === "claude-code") await checkClaudeOptions(call, given["claude"] ?? {});
    const toolsPart = toolsPatch(call, current, { tools, frontend_tools, skills });
    const extras = extrasWith(toolsPart.extras ?? current.config.extras, given);
    const isModelMeant = model !== undefined || default_model_id !== undefined;
    const changed = await call.agents
      .patch(
        params.agent_id,
        {
          ...withoutUndefined(rest),
          ...(default_model_id !== undefined && { default_model_id }),
          ...toolsPart,
          extras,
          ...(isModelMeant && (await modelOfAgent(call, { default_model_id, model }, extras))),
        },
        expected,
      )
      .catch((error: unknown) => {
        throw movedOn(error, expected);
      });
    return tagged(call, changed);
  },
  async archiveAgent({ params }, call) {
    return tagged(call, await call.agents.archive(params.agent_id));
  },
  async restoreAgent({ params }, call) {
    return tagged(call, await call.agents.restore(params.agent_id));
  },
  async listTools(_, { shared }) {
    const tools = shared.deps.tools?.() ?? [];
    return { data: tools.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
  },
} satisfies Partial<Handlers>;

/** Sets the agent's version as ETag. A later change can name this version in If-Match. */
function tagged(call: RequestContext, agent: Agent): Agent {
  call.reply.header("etag", `"${agent.version}"`);
  return agent;
}

function expectedVersion(call: RequestContext, current: Agent): number | undefined {
  const header = call.request.headers["if-match"];
  if (header === undefined || header === "*") return undefined;
  // If-Match may list several versions.
  if (!header.split(",").some((tag) => tag.trim() === `"${current.version}"`)) throw changedMeanwhile();
  return current.version;
}

function movedOn(error: unknown, expected: number | undefined): unknown {
  return expected !== undefined && isKnownError(error, "conflict", "already_exists") ? changedMeanwhile() : error;
}

function changedMeanwhile(): ApiError {
  return new ApiError(
    "precondition_failed",
    "The agent has changed: it is not at the version that If-Match names. Read the agent again.",
  );
}

function checkRuntime({ shared }: RequestContext, runtime: AgentInput["runtime"]): void {
  const { runtimes = ["loop"] } = shared.deps;
  if (!runtimes.includes(runtime))
    throw new KnownError(
      "invalid",
      `runtime: This server has no runtime "${runtime}", only ${runtimes.join(" and ")}.`,
    );
}

/**
 * Returns the schemas of an agent's tools. `names` are tools of the server, and `frontend` are tools that the client
 * runs.
 */
function toolSchemas(call: RequestContext, names: readonly string[], frontend: readonly Tool[]): Tool[] {
  // Checks the tools as the engine does. Without this check, an agent with invalid tools would accept prompts but never
  // run.
  for (const { name, description, input_schema } of frontend)
    defineTool({ name, description, input: input_schema, executor: "frontend" });
  const code = names.map((name) => {
    const schema = call.shared.deps.toolNamed?.(name);
    if (!schema)
      throw new KnownError("invalid", `tools: This server has no tool "${name}". GET /v1/tools lists its tools.`);
    return schema;
  });
  const all = [...code, ...frontend];
  if (new Set(all.map(({ name }) => name)).size < all.length)
    throw new KnownError("invalid", "tools: Two tools of an agent have the same name.");
  return all;
}

function toolsPatch(
  call: RequestContext,
  current: Agent,
  { tools, frontend_tools, skills: skillNames }: Pick<AgentPatch, "tools" | "frontend_tools" | "skills">,
): Partial<Pick<AgentConfig, "skills" | "tool_schemas" | "extras">> {
  if (!tools && !frontend_tools && !skillNames) return {};
  const skills = skillNames && skillsNamed(call, skillNames);
  const loader = current.config.tool_schemas.filter(({ name }) => isSkillTool(current, name));
  const known = new Set(frontendNames(current));
  const { tool_schemas, extras } = current.config;
  const names =
    tools ?? tool_schemas.map(({ name }) => name).filter((name) => !known.has(name) && !isSkillTool(current, name));
  const frontend = frontend_tools ?? tool_schemas.filter(({ name }) => known.has(name));
  return {
    ...(skills && skillsPart(skills)),
    tool_schemas: [...toolSchemas(call, names, frontend), ...(skills ? skillSchema(skills) : loader)],
    extras: { ...extras, frontend_tools: frontend.map(({ name }) => name) },
  };
}

function skillsNamed({ shared }: RequestContext, names: readonly string[]): readonly Skill[] {
  if (names.length === 0) return [];
  if (!shared.deps.skillsNamed) throw new KnownError("invalid", "skills: This server has no skills.");
  return shared.deps.skillsNamed(names);
}

/**
 * Returns the names and descriptions of skills, as the agent stores them. The instructions stay in the skills' files.
 */
function skillsPart(skills: readonly Skill[]): Pick<AgentConfig, "skills"> {
  return { skills: skills.map(({ name, description }) => ({ name, description })) };
}

function skillSchema(skills: readonly Skill[]): Tool[] {
  if (skills.length === 0) return [];
  const { name, description, inputSchema } = createSkillTool(skills);
  return [{ name, description, input_schema: inputSchema }];
}

/** Whether a tool of an agent is the built-in tool that loads skills. Another tool may have the same name. */
function isSkillTool({ config }: Agent, name: string): boolean {
  return name === SKILL_TOOL && (config.skills?.length ?? 0) > 0;
}

function frontendNames(agent: Agent): readonly string[] {
  const names = agent.config.extras["frontend_tools"];
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}

/** Extras that only the server may set. */
const OWN_MARKS: readonly string[] = [USES_DEFAULT_MODEL, "frontend_tools"];

function extrasWith(current: Extras, given: Extras | undefined): Extras {
  if (!given) return current;
  const own = Object.entries(current).filter(([name]) => OWN_MARKS.includes(name));
  return Object.fromEntries([...Object.entries(given).filter(([name]) => !OWN_MARKS.includes(name)), ...own]);
}

type Defined<Values> = { [Key in keyof Values]?: Exclude<Values[Key], undefined> };

function withoutUndefined<Values extends object>(values: Values): Defined<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<Values>;
}
