/**
 * This file needs the types of the Claude Agent SDK, so it is separate from `options.ts`: the types in `options.ts` are
 * part of the library and must work without the SDK, because not every user has it.
 */
import { type ClaudeOptions, JsonObject, KnownError } from "@skein/protocol";
import { readFileSync } from "node:fs";
import type { Options, Settings } from "@anthropic-ai/claude-agent-sdk";
import type { ResolvedOptions } from "./options.ts";

/** Converts the Claude API's options to options of the SDK. `startOf` adds further options. */
export function sdkOptions(options: ResolvedOptions): Options {
  const { allowed_tools, permission_mode, setting_sources, max_turns, model, add_dirs, output_format } = options;
  const settings = settingsOf(options);
  return {
    cwd: options.cwd,
    additionalDirectories: add_dirs,
    disallowedTools: options.disallowed_tools,
    permissionMode: permission_mode,
    ...(permission_mode === "bypassPermissions" && { allowDangerouslySkipPermissions: true }),
    ...(options.permission_prompt_tool_name && { permissionPromptToolName: options.permission_prompt_tool_name }),
    ...(model && { model }),
    ...(max_turns && { maxTurns: max_turns }),
    systemPrompt: systemPromptOf(options),
    ...newerOptions(options),
    ...(settings !== undefined && { settings }),
    // Without this option, the SDK would load all setting sources. Files in the working folder could then decide what
    // runs.
    settingSources: setting_sources ?? [],
    ...(options.agents && { agents: agentsOf(options.agents) }),
    ...(options.mcp_servers && { mcpServers: mcpServersOf(options.mcp_servers), strictMcpConfig: true }),
    plugins: (options.plugins ?? [])
      .filter(({ enabled, path }) => enabled && path)
      .map(({ path }) => ({ type: "local", path: path as string })),
    ...(output_format && { outputFormat: { type: "json_schema", schema: schemaOf(output_format) } }),
    ...(options.sandbox && { sandbox: sandboxOf(options.sandbox) }),
    // With the SDK's option `allowedTools`, Claude Code would print a warning at every start.
    extraArgs: { ...options.extra_args, ...(allowed_tools.length > 0 && { allowedTools: allowed_tools.join(",") }) },
    includePartialMessages: true,
    forwardSubagentText: true,
  };
}

/**
 * Returns the system prompt. Default: Claude Code's prompt. Without this option, the SDK would send a prompt of one
 * line.
 */
function systemPromptOf({
  system_prompt,
  system_prompt_append,
}: ResolvedOptions): NonNullable<Options["systemPrompt"]> {
  const own = { type: "preset", preset: "claude_code" } as const;
  if (!system_prompt && !system_prompt_append) return own;
  // `snapshot: false` keeps the prompt out of the transcript. Without it, a resumed session would keep its first
  // prompt, even if the next run has another prompt.
  if (!system_prompt) return { ...own, append: system_prompt_append ?? "", snapshot: false };
  const prompt = system_prompt_append ? `${system_prompt}\n\n${system_prompt_append}` : system_prompt;
  return { type: "custom", prompt, snapshot: false };
}

/**
 * Converts run options that are not in the specification of the Claude API to the SDK's names. Leaves out the budget,
 * because Skein enforces it.
 */
function newerOptions({ effort, thinking, betas, fallback_model, skills }: ResolvedOptions): Partial<Options> {
  return {
    ...(effort && { effort }),
    ...(thinking && { thinking: thinkingOf(thinking) }),
    ...(betas && betas.length > 0 && { betas: betas as NonNullable<Options["betas"]> }),
    ...(fallback_model && { fallbackModel: fallback_model }),
    ...(skills && { skills }),
  };
}

function thinkingOf({
  type,
  budget_tokens,
  display,
}: NonNullable<ClaudeOptions["thinking"]>): NonNullable<Options["thinking"]> {
  if (type === "disabled") return { type };
  const shown = display ? { display } : {};
  return type === "adaptive"
    ? { type, ...shown }
    : { type, ...shown, ...(budget_tokens && { budgetTokens: budget_tokens }) };
}

/**
 * Adds the output style to the settings. Reads a settings file here, because the SDK does not accept a settings file
 * together with the option `sandbox`.
 */
function settingsOf({ settings, output_style }: ResolvedOptions): Settings | undefined {
  const own = typeof settings === "string" ? readSettings(settings) : (settings ?? undefined);
  return output_style ? { ...own, outputStyle: output_style } : own;
}

function readSettings(file: string): JsonObject {
  try {
    return JsonObject.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new KnownError("invalid", `settings: The file ${file} cannot be used: ${reason}`, { cause: error });
  }
}

function agentsOf(agents: NonNullable<ClaudeOptions["agents"]>): NonNullable<Options["agents"]> {
  return Object.fromEntries(
    Object.entries(agents).map(([name, { tools, model, ...agent }]) => [
      name,
      { ...agent, ...(tools && { tools }), ...(model && { model }) },
    ]),
  );
}

function mcpServersOf(servers: NonNullable<ClaudeOptions["mcp_servers"]>): NonNullable<Options["mcpServers"]> {
  return Object.fromEntries(
    Object.entries(servers).map(([name, { type, command, args, env, url, headers }]) => [
      name,
      type === "stdio" ? { type, command: command ?? "", args, env } : { type, url: url ?? "", headers },
    ]),
  );
}

/**
 * Returns the schema of the output format. For `json`, returns a schema for any object, because the SDK only accepts
 * schemas.
 */
function schemaOf({ type, schema }: NonNullable<ClaudeOptions["output_format"]>): JsonObject {
  return type === "json_schema" && schema ? schema : { type: "object" };
}

/** Converts the sandbox options. If the sandbox is not available, the run ends, so no command runs outside of it. */
function sandboxOf(sandbox: NonNullable<ClaudeOptions["sandbox"]>): NonNullable<Options["sandbox"]> {
  const { enabled, allowed_paths, network_access } = sandbox;
  return {
    enabled,
    failIfUnavailable: true,
    allowUnsandboxedCommands: false,
    filesystem: { allowWrite: allowed_paths },
    // Addresses that are not allowed are rejected without a question.
    network: { allowedDomains: network_access ? ["*"] : [], strictAllowlist: true },
  };
}
