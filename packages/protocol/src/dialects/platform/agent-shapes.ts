import { z } from "zod";
import { AnyObject } from "./page.ts";
import { NewAgentConfig, Tags, ToolSchema } from "../../agent.ts";
import { Uuid } from "../../ids.ts";

const LONGEST_WAIT_MS = 30 * 24 * 3600 * 1000;

/** A tool that the client runs. When the model uses the tool, the run waits for the client's result. */
const FrontendTool = z.strictObject({
  ...ToolSchema.shape,
  timeout_ms: z.int().positive().max(LONGEST_WAIT_MS).optional(),
  /** Whether the model must follow the schema exactly. The value is sent to the model's API. */
  strict: z.boolean().optional(),
});

/** Names of skills, or folders with skills that the operator allowed. */
const SkillNames = z.array(z.string().min(1).max(4096)).max(200);

/**
 * An agent in a request. Has the platform API's columns, the fields of the configuration, and names of the server's
 * tools.
 */
export const AgentInput = z
  .strictObject({
    ...NewAgentConfig.shape,
    model: NewAgentConfig.shape.model.optional(),
    /** The id of a model in the model list. The model's name becomes the agent's model. */
    default_model_id: Uuid.nullable().default(null),
    tags: Tags.default([]),
    /** Names of tools that are defined in the server's code. */
    tools: z.array(z.string().min(1).max(128)).max(200).default([]),
    frontend_tools: z.array(FrontendTool).max(50).default([]),
    skills: SkillNames.default([]),
  })
  .omit({ tool_schemas: true });
export type AgentInput = z.output<typeof AgentInput>;

const { shape } = NewAgentConfig;

/**
 * Fields of the configuration that a patch may change. They have no defaults, because a default would overwrite a field
 * that the patch leaves out.
 */
const changeable = {
  description: shape.description.unwrap(),
  system_prompt: shape.system_prompt.unwrap(),
  show_system_prompt: shape.show_system_prompt.unwrap(),
  max_steps: shape.max_steps.unwrap(),
  thinking_tokens: shape.thinking_tokens.unwrap(),
  max_tokens: shape.max_tokens.unwrap(),
  cache: shape.cache.unwrap(),
  server_tools: shape.server_tools.unwrap(),
  beta_headers: shape.beta_headers.unwrap(),
  api_kwargs: shape.api_kwargs.unwrap(),
  formatter: shape.formatter.unwrap(),
  stream_meta_history_and_tool_results: shape.stream_meta_history_and_tool_results.unwrap(),
  compactor_type: shape.compactor_type.unwrap(),
  memory_store_type: shape.memory_store_type.unwrap(),
  max_retries: shape.max_retries.unwrap(),
  base_delay: shape.base_delay.unwrap(),
  generate_title: shape.generate_title.unwrap(),
  max_parallel_tool_calls: shape.max_parallel_tool_calls.unwrap(),
  compaction_threshold: shape.compaction_threshold.unwrap(),
  max_cost_micros: shape.max_cost_micros.unwrap(),
  extras: shape.extras.unwrap(),
  fallback_models: shape.fallback_models.unwrap(),
};

/** A change of an agent. Missing fields stay unchanged. The runtime cannot be changed. */
export const AgentPatch = z
  .strictObject({
    ...changeable,
    name: shape.name,
    model: shape.model,
    default_model_id: Uuid.nullable(),
    tags: Tags,
    tools: z.array(z.string().min(1).max(128)).max(200),
    frontend_tools: z.array(FrontendTool).max(50),
    skills: SkillNames,
  })
  .partial();
export type AgentPatch = z.output<typeof AgentPatch>;

/** A tool that is defined in the server's code. */
export const ApiTool = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: AnyObject,
  /** If a worker dies during a call of a tool with `once`, the call is not repeated. */
  policy: z.enum(["once", "repeatable"]),
});
export type ApiTool = z.infer<typeof ApiTool>;
