import { z } from "zod";
import { Line } from "../../agent.ts";
import { JsonObject } from "../../content.ts";

/**
 * The options of a Claude Code session, with the Claude API's names, limits and defaults. Newer options of Claude Code
 * are added.
 *
 * A session stores its options under `agent.extras.claude`. A run may have different options in
 * `prompt.accepted.options` (see RunOptions). The server checks options against the operator's policy before it stores
 * them.
 */

/** The first four modes are in the specification. The last two are newer. */
export const PermissionMode = z.enum(["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]);
export type PermissionMode = z.infer<typeof PermissionMode>;

/**
 * A tool, or a pattern such as `Bash(git *)`. A comma is rejected, because Claude Code reads it as the end of a name.
 */
const ToolName = Line.min(1)
  .max(500)
  .refine((name) => !name.includes(","), "A tool name or pattern may not have a comma; use one list entry for each.");

/**
 * An alias of Claude Code, or the id of a Claude model: Anthropic's (`claude-…`), Vertex's (`claude-…@20250929`) or
 * Bedrock's (`us.anthropic.claude-…-v1:0`, or the ARN of a profile). `[1m]` selects the context window of a million
 * tokens.
 */
export const ClaudeModel = Line.max(100).regex(
  /^(?:sonnet|opus|haiku|fable|best|opusplan|default|(?:[a-z]{2,10}(?:-[a-z]{2,10})?\.)?(?:anthropic\.)?claude-[a-zA-Z0-9._-]+(?:@[a-zA-Z0-9-]+)?(?::\d+(?::\w+)?)?|[a-zA-Z0-9][a-zA-Z0-9._-]*\/[a-zA-Z0-9._:@/-]+|arn:aws[a-z-]*:bedrock:[a-zA-Z0-9:/._-]+)(?:\[1m\])?$/,
  "Expected sonnet, opus, haiku, opusplan, the id of a Claude model (claude-…, or a name of Bedrock or Vertex), or provider/name of a model of this server.",
);

/** How much effort the model makes for an answer. */
const Effort = z.enum(["low", "medium", "high", "xhigh", "max"]);

/**
 * Controls how the model thinks before it answers. Only models without adaptive thinking need `budget_tokens`.
 */
const Thinking = z.strictObject({
  type: z.enum(["adaptive", "enabled", "disabled"]),
  budget_tokens: z.int().min(1024).max(1_000_000).nullish(),
  display: z.enum(["summarized", "omitted"]).nullish(),
});

/** A beta of the Messages API, such as `context-1m-2025-08-07`. A comma is rejected because it separates two betas. */
const Beta = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.-]{0,99}$/, "Expected the name of a beta, such as context-1m-2025-08-07.");

/** Names of skills. `all` selects every available skill. */
const Skills = z.union([z.literal("all"), z.array(Line.min(1).max(200)).max(200)], {
  error: 'Expected a list of names, or "all".',
});

export const AgentDefinition = z.looseObject({
  description: z.string().min(1).max(1000),
  prompt: z.string().min(1).max(50_000),
  tools: z.array(ToolName).nullish(),
  model: z.union([z.literal("inherit"), ClaudeModel]).nullish(),
});

export const McpServerConfig = z
  .object({
    command: z.string().min(1).nullish(),
    args: z.array(z.string()).default([]),
    type: z.enum(["stdio", "sse", "http"]).default("stdio"),
    url: z.url({ protocol: /^https?$/ }).nullish(),
    headers: z.record(z.string(), z.string()).default({}),
    env: z.record(z.string(), z.string()).default({}),
  })
  .superRefine(({ type, command, url }, context) => {
    if (type === "stdio" && !command)
      context.addIssue({ code: "custom", path: ["command"], message: "The stdio transport requires a command." });
    if (type !== "stdio" && !url)
      context.addIssue({ code: "custom", path: ["url"], message: `The ${type} transport requires a url.` });
  });

export const HookWebhook = z.object({
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
  timeout: z.int().min(1).max(300).default(30),
  /**
   * A pattern for tool names. Look-around and back-references are not supported, because a linear-time engine runs the
   * pattern.
   */
  matcher: z.string().max(1000).nullish(),
  /** The key that signs the hook's calls (Standard Webhooks). Default: the operator's secret. */
  secret: z
    .string()
    .regex(
      // The events of a session contain the second form instead of the secret.
      /^(?:whsec_[A-Za-z0-9+/]{32,500}={0,2}|secret:[0-9a-f]{24})$/,
      "Expected whsec_ and at least 24 bytes in base64.",
    )
    .nullish(),
});
export type HookWebhook = z.infer<typeof HookWebhook>;

/** First the seven events of the specification in its order, and after them all other events of the SDK. */
export const HOOK_EVENTS = [
  "PreToolUse",
  "PostToolUse",
  "Stop",
  "SubagentStop",
  "UserPromptSubmit",
  "PreCompact",
  "Notification",
  "PostToolUseFailure",
  "PostToolBatch",
  "UserPromptExpansion",
  "SessionStart",
  "SessionEnd",
  "StopFailure",
  "SubagentStart",
  "PostCompact",
  "PreModelSwitch",
  "PostModelSwitch",
  "PermissionRequest",
  "PermissionDenied",
  "Setup",
  "TeammateIdle",
  "TaskCreated",
  "TaskCompleted",
  "Elicitation",
  "ElicitationResult",
  "ConfigChange",
  "WorktreeCreate",
  "WorktreeRemove",
  "InstructionsLoaded",
  "CwdChanged",
  "FileChanged",
  "DirectoryAdded",
  "MessageDisplay",
] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

/** Maps names such as `pre_tool_use` to names such as `PreToolUse`, which are stored. */
const HOOK_NAMES = new Map<string, string>(
  HOOK_EVENTS.map((name) => [name.replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase(), name]),
);

export const HooksConfig = z.preprocess(
  (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([name, hook]) => [HOOK_NAMES.get(name) ?? name, hook]))
      : value,
  z.partialRecord(z.enum(HOOK_EVENTS), HookWebhook.nullable()),
);
export type HooksConfig = z.infer<typeof HooksConfig>;

export const OutputFormat = z
  .object({ type: z.enum(["json", "json_schema"]).default("json_schema"), schema: JsonObject.nullish() })
  .superRefine(({ type, schema }, context) => {
    if (type === "json_schema" && !schema)
      context.addIssue({ code: "custom", path: ["schema"], message: "The type json_schema requires a schema." });
    if (schema && !Object.hasOwn(schema, "type"))
      context.addIssue({ code: "custom", path: ["schema"], message: "A JSON schema must have a type." });
  });

export const PluginConfig = z.object({
  name: Line.min(1).max(255),
  path: z.string().nullish(),
  enabled: z.boolean().default(true),
});

export const SandboxSettings = z.object({
  enabled: z.boolean().default(true),
  allowed_paths: z.array(z.string()).default([]),
  network_access: z.boolean().default(false),
});

const Tools = z.array(ToolName).max(200);

/** Options of a session or a run that are not in the specification. */
const howItWorks = {
  effort: Effort.nullish(),
  thinking: Thinking.nullish(),
  betas: z.array(Beta).max(20).nullish(),
  /** Used when the model is overloaded. */
  fallback_model: ClaudeModel.nullish(),
  /** The maximum cost of one run, in dollars. */
  max_budget_usd: z.number().positive().max(1_000_000).nullish(),
  skills: Skills.nullish(),
};

const words = {
  system_prompt: z.string().nullish(),
  system_prompt_append: z.string().nullish(),
  output_format: OutputFormat.nullish(),
};

/** The options that a resume or a fork may change. */
export const RunOptions = z.object({
  allowed_tools: Tools.nullish(),
  disallowed_tools: Tools.nullish(),
  permission_mode: PermissionMode.nullish(),
  max_turns: z.int().min(1).max(1000).nullish(),
  model: ClaudeModel.nullish(),
  hooks: HooksConfig.nullish(),
  include_partial_messages: z.boolean().nullish(),
  ...words,
  ...howItWorks,
});
export type RunOptions = z.infer<typeof RunOptions>;

export const ClaudeOptions = z.object({
  allowed_tools: Tools.default([]),
  disallowed_tools: Tools.default([]),
  permission_mode: PermissionMode.default("default"),
  permission_prompt_tool_name: Line.max(200).nullish(),
  model: ClaudeModel.nullish(),
  max_turns: z.int().min(1).max(1000).nullish(),
  max_buffer_size: z.int().positive().nullish(),
  cwd: z.string().max(500).nullish(),
  add_dirs: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  ...words,
  output_style: Line.max(200).nullish(),
  settings: z.string().nullish(),
  setting_sources: z.array(z.enum(["project", "user", "local"])).nullish(),
  agents: z.record(z.string(), AgentDefinition).nullish(),
  mcp_servers: z.record(z.string(), McpServerConfig).nullish(),
  plugins: z.array(PluginConfig).nullish(),
  hooks: HooksConfig.nullish(),
  enable_file_checkpointing: z.boolean().default(false),
  include_partial_messages: z.boolean().default(false),
  sandbox: SandboxSettings.nullish(),
  user: Line.max(255).nullish(),
  extra_args: z.record(z.string(), z.string().nullable()).default({}),
  ...howItWorks,
});
export type ClaudeOptions = z.infer<typeof ClaudeOptions>;
