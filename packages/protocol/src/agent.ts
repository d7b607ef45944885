import { z } from "zod";
import { JsonObject } from "./content.ts";
import { Uuid } from "./ids.ts";

/** Text that every store can keep in a column: no NUL, no half of a surrogate pair. */
export const Line = z
  .string()
  .refine(
    (text) => text.isWellFormed() && !text.includes("\0"),
    "Expected text without NUL and without lone surrogates.",
  );

export const Tags = z.array(Line.min(1).max(100)).max(50);

/**
 * The agent tables have two spellings of a component type: a registry name in SQL and a class name in documents.
 * Accepts both, and returns the registry name.
 */
function componentType<const Names extends readonly [string, ...string[]]>(names: Names, suffix: string) {
  const byClassName = new Map(names.map((name) => [className(name, suffix), name]));
  return z.preprocess((value) => byClassName.get(value as string) ?? value, z.enum(names));
}

function className(registryName: string, suffix: string): string {
  const words = registryName.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join("") + suffix;
}

export const Formatter = componentType(["json", "xml", "raw"], "Formatter");
export const CompactorType = componentType(["none", "tool_result_removal", "sliding_window", "summarize"], "Compactor");
export const MemoryStoreType = componentType(["none", "placeholder", "full_text"], "MemoryStore");

/** A tool that the model may call. The code of the tool is not part of this data. */
export const ToolSchema = z.looseObject({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, "A tool name has 1 to 128 letters, digits, _ or -."),
  description: z.string().default(""),
  input_schema: JsonObject,
  /** How long a run waits for a tool that the client runs. Default: no limit. The model does not see this field. */
  timeout_ms: z.int().positive().optional(),
});
export type ToolSchema = z.output<typeof ToolSchema>;

/**
 * The name and description of a skill. The system prompt has only these two, and the model loads the instructions when
 * a task needs them.
 */
export const AgentSkill = z.object({
  name: z
    .string()
    .max(64)
    .regex(
      /^[a-z0-9]+(-[a-z0-9]+)*$/,
      "A skill name has 1 to 64 lower-case letters, digits and single hyphens between them.",
    ),
  description: Line.min(1).max(1024),
});
export type AgentSkill = z.infer<typeof AgentSkill>;

/**
 * The configuration of an agent. A session keeps its first configuration. The defaults come from the specification of
 * the agent tables.
 */
export const AgentConfig = z.object({
  name: Line.min(1).max(255),
  description: Line.nullable().default(null),
  runtime: z.enum(["loop", "claude-code"]).default("loop"),
  system_prompt: z.string().default(""),
  /** Shows the system prompt to read-only API keys. */
  show_system_prompt: z.boolean().default(false),
  model: Line.min(1).max(100),
  max_steps: z.int().min(1).max(1000).default(50),
  thinking_tokens: z.int().nonnegative().default(0),
  max_tokens: z.int().positive().default(2048),
  /**
   * How long the provider keeps the conversation in its cache: minutes (`short`, the default), hours (`long`), or not
   * at all (`off`).
   */
  cache: z.enum(["off", "short", "long"]).optional(),
  tool_schemas: z.array(ToolSchema).default([]),
  server_tools: z.array(JsonObject).default([]),
  beta_headers: z.array(Line).default([]),
  api_kwargs: JsonObject.default({}),
  formatter: Formatter.default("json"),
  stream_meta_history_and_tool_results: z.boolean().default(false),
  compactor_type: CompactorType.default("none"),
  /** The kind of agent memory: a kind that is built into Skein, or a kind that the server's own code defines. */
  memory_store_type: MemoryStoreType.or(Line.min(1).max(50)).default("none"),
  max_retries: z.int().nonnegative().max(100).default(5),
  base_delay: z.number().nonnegative().default(1),
  /**
   * If a session has no title at the end of a run, makes the model write a title. The title costs an extra model call.
   */
  generate_title: z.boolean().default(false),
  /** How many tool calls of one step run at the same time. */
  max_parallel_tool_calls: z.int().min(1).max(100).default(8),
  /** The number of context tokens above which the compactor shortens the context. */
  compaction_threshold: z.int().positive().default(160_000),
  max_cost_micros: z.int().nonnegative().nullable().default(null),
  /**
   * The JSON Schema of the final answer. The root is an object. The model must correct an answer that does not fit this
   * schema.
   */
  output_schema: JsonObject.optional(),
  /**
   * If a model is overloaded or unavailable, or rejects the call, the rest of the run uses the next model of this list.
   */
  fallback_models: z.array(Line.min(1).max(100)).max(10).optional(),
  /** The skills that the model may load, by name. */
  skills: z.array(AgentSkill).max(200).optional(),
  extras: JsonObject.default({}),
});
export type AgentConfig = z.infer<typeof AgentConfig>;

/**
 * The configuration of a new agent. Stricter than `AgentConfig`, which must also accept configurations stored by older
 * versions.
 */
export const NewAgentConfig = AgentConfig.extend({
  beta_headers: z
    .array(z.string().regex(/^[\x21-\x7e]{1,200}$/, "Expected the name of a beta, without spaces."))
    .default([]),
  base_delay: z.number().nonnegative().max(3600).default(1),
  memory_store_type: MemoryStoreType.default("none"),
});

/** An agent in the platform API: its configuration, and a version that every change increases. */
export const Agent = z.object({
  id: Uuid,
  version: z.int().positive(),
  name: AgentConfig.shape.name,
  description: AgentConfig.shape.description,
  system_prompt: AgentConfig.shape.system_prompt,
  default_model_id: Uuid.nullable(),
  tags: Tags,
  status: z.enum(["active", "archived"]),
  config: AgentConfig,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export type Agent = z.infer<typeof Agent>;

/**
 * A row of the platform API's `llm_models`. The specification mentions these rows and does not define their columns.
 */
export const LlmModel = z.object({
  id: Uuid,
  name: Line.min(1).max(100),
  /** The part of the model's name before the slash. A name without a slash has `anthropic` here. */
  provider: z.string(),
  is_default: z.boolean(),
  created_at: z.iso.datetime(),
});
export type LlmModel = z.infer<typeof LlmModel>;
