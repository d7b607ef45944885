import type { ClaudeOptions } from "@skein/protocol";
import { type KeyPolicy, type SandboxMode, isAmong, isHostAmong } from "./policy.ts";

/** The things that a run wants to use and that a policy can forbid. */
export interface AskedUse {
  readonly runtime?: "loop" | "claude-code";
  readonly models?: readonly (string | null | undefined)[];
  readonly tools?: readonly string[];
  readonly permissionMode?: string | null | undefined;
  readonly hosts?: readonly string[];
  /** Whether settings files in the working folder are loaded. They may name commands that run. */
  readonly loadsSettings?: boolean;
}

/**
 * Returns why an API key may not use what was asked for, as a sentence for the caller. Undefined if the key may use it.
 */
export function useRefusal(policy: KeyPolicy, asked: AskedUse): string | undefined {
  const { runtimes, tools, models, permissionModes, hosts } = policy;
  const { runtime, permissionMode } = asked;
  if (runtime !== undefined && !isAmong(runtimes, runtime)) return refusal("runtime", runtime, runtimes);
  const model = asked.models?.find((name) => typeof name === "string" && !isAmong(models, name));
  if (typeof model === "string") return refusal("model", model, models);
  const tool = asked.tools?.find((name) => !isAmong(tools, toolNameOf(name)));
  if (tool !== undefined) return refusal("tool", toolNameOf(tool), tools);
  // These settings may contain hooks and MCP servers, which are commands. A session that may write files could add
  // such commands.
  if (asked.loadsSettings && !isAmong(tools, "Bash"))
    return `setting_sources: The settings in a folder can start commands. ${refusal("tool", "Bash", tools)}`;
  if (permissionMode && !isAmong(permissionModes, permissionMode))
    return refusal("permission mode", permissionMode, permissionModes);
  const host = hosts && asked.hosts?.find((name) => !isHostAmong(hosts, name));
  if (host !== undefined) return refusal("host", host, hosts);
  return undefined;
}

/** Returns what the options of a request for Claude Code want to use. */
export function askedByOptions(options: Partial<ClaudeOptions>): AskedUse {
  const { model, fallback_model, allowed_tools = [], permission_mode, setting_sources } = options;
  const agents = Object.values(options.agents ?? {});
  return {
    models: [model, fallback_model, ...agents.map((agent) => (agent.model === "inherit" ? null : agent.model))],
    tools: [...allowed_tools, ...agents.flatMap(({ tools }) => tools ?? [])],
    permissionMode: permission_mode,
    loadsSettings: (setting_sources?.length ?? 0) > 0,
  };
}

/**
 * Returns what the session may do but the API key may not. A key cannot continue a session that it could not have
 * created.
 */
export function moreThan(session: KeyPolicy, key: KeyPolicy): string | undefined {
  const lists = [
    ["tools", session.tools, key.tools],
    ["models", session.models, key.models],
    ["permission modes", session.permissionModes, key.permissionModes],
    ["folders", session.folders, key.folders],
  ] as const;
  const wider = lists.find(([, has, may]) => may && !(has ?? ["*"]).every((name) => isAmong(may, name)))?.[0];
  if (wider !== undefined) return wider;
  const { hosts } = key;
  if (hosts && !(session.hosts ?? ["*"]).every((host) => isHostAmong(hosts, host))) return "hosts";
  return key.sandbox && isWeaker(session.sandbox ?? "off", key.sandbox) ? "a weaker sandbox" : undefined;
}

const STRICTNESS: readonly SandboxMode[] = ["off", "preferred", "required"];

function isWeaker(one: SandboxMode, other: SandboxMode): boolean {
  return STRICTNESS.indexOf(one) < STRICTNESS.indexOf(other);
}

/** The name of the tool in a pattern: Bash in `Bash(git *)`. */
function toolNameOf(tool: string): string {
  return tool.split("(")[0] ?? tool;
}

function refusal(what: string, name: string, list: readonly string[] | undefined): string {
  const may = list?.length ? `It may use: ${list.join(", ")}.` : "It may use none.";
  return `The policy of this server does not let this key use the ${what} "${name.slice(0, 100)}". ${may}`;
}
