import type { KeyPolicy, QueuedPrompt, SessionState } from "@skein/core";
import { ClaudeOptions, type JsonObject } from "@skein/protocol";

/** The sandbox rules for an MCP server of the operator. */
export interface OwnServer {
  readonly reads: readonly string[];
  readonly hosts: readonly string[];
}

/** The options of a run, with real paths, settings and secrets instead of names. */
export interface ResolvedOptions extends Omit<ClaudeOptions, "settings" | "cwd"> {
  /** An absolute path that exists. */
  readonly cwd: string;
  readonly settings?: JsonObject | string | null | undefined;
  /** The rules for the API key that created the session. */
  readonly rules?: KeyPolicy;
  /** The operator's MCP servers among `mcp_servers`, with their sandbox rules. */
  readonly ownServers?: Readonly<Record<string, OwnServer>>;
  /** Device and inode of the session's folders, by path. */
  readonly identities?: Readonly<Record<string, string>>;
  /** Read-only folders. They need a sandbox. */
  readonly readOnly?: readonly string[];
}

/** Returns the options of the next run. The prompt and `control` requests change the options of the session. */
export function optionsOf(state: SessionState, prompt: QueuedPrompt): ClaudeOptions {
  const { agent, control } = state;
  // An agent of the platform API without `extras.claude` has these settings in other fields.
  const own = (agent?.extras["claude"] ?? {
    ...(agent && { model: agent.model, max_turns: agent.max_steps }),
  }) as JsonObject;
  const changed = Object.entries(prompt.options ?? {}).filter(([, value]) => value !== null && value !== undefined);
  const base: JsonObject = {
    ...(agent?.system_prompt && { system_prompt: agent.system_prompt }),
    ...(state.workingDirectory !== null && { cwd: state.workingDirectory }),
    ...(agent?.output_schema && { output_format: { type: "json_schema", schema: agent.output_schema } }),
    ...own,
    ...(control.permissionMode !== null && { permission_mode: control.permissionMode }),
    ...Object.fromEntries(changed),
    model: modelNameOf(state, prompt),
  };
  return ClaudeOptions.parse(base);
}

/** Returns the model of a run, or null if no model is named. Claude Code's settings then decide. */
export function modelNameOf({ agent, control }: SessionState, prompt: QueuedPrompt): string | null {
  const own = agent?.extras["claude"] as { readonly model?: string | null } | undefined;
  const changed = prompt.options as { readonly model?: string | null } | undefined;
  const named = changed?.model ?? prompt.model ?? control.model ?? own?.model ?? agent?.model ?? "default";
  return named === "default" ? null : named;
}
