import type { Agent, AgentChange } from "../api/api.ts";

/** The values of the agent form, as typed. */
export interface FormValues {
  readonly name: string;
  readonly description: string;
  readonly system_prompt: string;
  readonly model: string;
  readonly max_steps: string;
  readonly max_tokens: string;
  readonly thinking_tokens: string;
  readonly cache: string;
  readonly budget: string;
  readonly tools: string;
  readonly generate_title: boolean;
}

/** Returns the values of an agent, or the default values for a new agent. */
export function valuesOf(agent: Agent | undefined): FormValues {
  const config = agent?.config;
  return {
    name: agent?.name ?? "",
    description: agent?.description ?? "",
    system_prompt: agent?.system_prompt ?? "",
    model: config?.model ?? "",
    max_steps: String(config?.max_steps ?? 50),
    max_tokens: String(config?.max_tokens ?? 2048),
    thinking_tokens: String(config?.thinking_tokens ?? 0),
    cache: config?.cache ?? "short",
    budget: config?.max_cost_micros == null ? "" : String(config.max_cost_micros / 1e6),
    tools: serverTools(agent).join(", "),
    generate_title: config?.generate_title ?? true,
  };
}

/** Returns the change to save. It contains the model and the tools only if the user changed them. */
export function changeOf(values: FormValues, agent: Agent | undefined): AgentChange {
  const model = values.model.trim();
  const tools = values.tools
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return {
    name: values.name.trim(),
    description: values.description.trim() === "" ? null : values.description.trim(),
    system_prompt: values.system_prompt,
    ...(model !== "" && model !== agent?.config.model && { model }),
    max_steps: Number(values.max_steps),
    max_tokens: Number(values.max_tokens),
    thinking_tokens: Number(values.thinking_tokens),
    cache: values.cache as NonNullable<AgentChange["cache"]>,
    max_cost_micros: values.budget.trim() === "" ? null : Math.round(Number(values.budget) * 1e6),
    generate_title: values.generate_title,
    ...(tools.join() !== serverTools(agent).join() && { tools }),
  };
}

/** Returns the names of the tools that the server runs, without the tools of a frontend. */
function serverTools(agent: Agent | undefined): readonly string[] {
  const ofFrontend = frontendNames(agent);
  return (agent?.config.tool_schemas ?? []).map(({ name }) => name).filter((name) => !ofFrontend.includes(name));
}

/** Returns the names of the tools that a frontend runs. */
export function frontendNames(agent: Agent | undefined): readonly string[] {
  const names = agent?.config.extras["frontend_tools"];
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}
