import type { KeyPolicy, QueuedPrompt, SessionState } from "@skein/core";
import { ClaudeOptions, type JsonObject } from "@skein/protocol";

/** An MCP server of the operator, and what its command can see. */
export interface OwnServer {
  readonly reads: readonly string[];
  readonly hosts: readonly string[];
}

/** The options of a run with every name replaced by what it stands for: paths, settings, secrets. */
export interface ResolvedOptions extends Omit<ClaudeOptions, "settings" | "cwd"> {
  /** An absolute path that exists. */
  readonly cwd: string;
  readonly settings?: JsonObject | string | null | undefined;
  /** The operator's rules for the key that began the session. */
  readonly rules?: KeyPolicy;
  /** Which of the MCP servers are the operator's, and what their commands can see in a sandbox. */
  readonly ownServers?: Readonly<Record<string, OwnServer>>;
  /** Device and inode of the folders that the session named, by their paths. */
  readonly identities?: Readonly<Record<string, string>>;
  /** Read-only folders. They need a sandbox. */
  readonly readOnly?: readonly string[];
}

/** The options of the session's next run: those of the session, changed by the prompt and by `control` requests. */
export function optionsOf(state: SessionState, prompt: QueuedPrompt): ClaudeOptions {
  const { agent, control } = state;
  // An agent of the platform API without `extras.claude` has its settings in the agent's own fields.
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

/** The model that a run names; null if none was chosen, and Claude Code's settings decide. */
export function modelNameOf({ agent, control }: SessionState, prompt: QueuedPrompt): string | null {
  const own = agent?.extras["claude"] as { readonly model?: string | null } | undefined;
  const changed = prompt.options as { readonly model?: string | null } | undefined;
  const named = changed?.model ?? prompt.model ?? control.model ?? own?.model ?? agent?.model ?? "default";
  return named === "default" ? null : named;
}
