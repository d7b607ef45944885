import { validateHeaderName, validateHeaderValue } from "node:http";
import { isIP } from "node:net";
import { type ClaudeOptions, KnownError } from "@skein/protocol";
import { RE2JS } from "re2js";
import { type GuardedRequestOptions } from "../../../tools/guarded-request.ts";
import { urlProblem } from "../../../tools/url-problem.ts";
import type { ClaudeSettings } from "./settings.ts";

/**
 * The rules for each part of a request's options. Invalid values get HTTP status 422. Options that the operator has not
 * allowed get HTTP status 403.
 */

type Given = Partial<ClaudeOptions>;
export type Places = Pick<GuardedRequestOptions, "allowsAddress" | "allowsPort">;

/** Matches a tool or a pattern for tools. A comma is not allowed, because Claude Code would read two entries. */
const TOOL = /^[A-Za-z][\w.-]*(?:\*|\([^,\p{Cc}]+\))?$/u;

export function checkTools({ allowed_tools, disallowed_tools, agents }: Given): void {
  const lists = [
    ["allowed_tools", allowed_tools],
    ["disallowed_tools", disallowed_tools],
    ...Object.entries(agents ?? {}).map(([name, { tools }]) => [`agents.${name}.tools`, tools] as const),
  ] as const;
  for (const [field, tools] of lists)
    for (const tool of tools ?? []) {
      if (!TOOL.test(tool))
        throw invalid(field, "Expected one tool per entry, such as Read, mcp__server__tool or Bash(git *).");
      if (tool.endsWith("(*)")) throw invalid(field, `${tool} means the whole tool. Write ${tool.slice(0, -3)}.`);
    }
}

/** The allowed fields of a subagent. Another field could allow options that other rules forbid. */
const AGENT_FIELDS = new Set(["description", "prompt", "tools", "model", "disallowedTools", "maxTurns", "effort"]);

export function checkAgents({ agents }: Given, { nestedAgents }: ClaudeSettings): void {
  for (const [name, agent] of Object.entries(agents ?? {})) {
    const unknown = Object.keys(agent).find((key) => !AGENT_FIELDS.has(key));
    if (unknown !== undefined)
      throw invalid(
        `agents.${name}`,
        `A subagent cannot set ${unknown.slice(0, 100)}. Allowed: ${[...AGENT_FIELDS].join(", ")}.`,
      );
    if (nestedAgents) continue;
    if (agent.tools?.some((tool) => /^(?:Task|Agent)\b/.test(tool)))
      throw invalid(`agents.${name}.tools`, "Subagents cannot have the Task tool (no nested subagents).");
  }
}

export function checkPermissionTool({ permission_prompt_tool_name: name }: Given): void {
  if (name && !/^mcp__[\w-]+__[\w-]+$/.test(name))
    throw invalid("permission_prompt_tool_name", "Expected the tool of an MCP server, such as mcp__server__tool.");
}

export function checkVariables({ env }: Given, { env: opened }: ClaudeSettings): void {
  for (const [name, value] of Object.entries(env ?? {})) {
    if (!opened.includes(name)) throw closed(`env.${name.slice(0, 100)}`, { what: "this variable", setting: "env" });
    if (value.includes("\0")) throw invalid(`env.${name}`, "A value may not contain NUL.");
  }
}

export function checkArguments({ extra_args }: Given, { extraArgs }: ClaudeSettings): void {
  for (const [flag, value] of Object.entries(extra_args ?? {})) {
    if (!extraArgs.includes(flag))
      throw new KnownError(
        "arg_not_allowed",
        `extra_args: The operator of this server does not allow ${JSON.stringify(flag.slice(0, 100))}. ${opens("extraArgs")}`,
      );
    // The value is passed as the next argument. A value with a dash at its beginning would be another flag.
    if (value?.startsWith("-") || value?.includes("\0"))
      throw invalid(`extra_args.${flag}`, "A value may not begin with a dash or contain NUL.");
  }
}

export function checkSettings({ settings }: Given, { settings: named }: ClaudeSettings): void {
  if (settings && !Object.hasOwn(named, settings))
    throw closed("settings", { what: "these settings", setting: "settings", names: Object.keys(named) });
}

export function checkPlugins({ plugins }: Given, { plugins: named }: ClaudeSettings): void {
  for (const { name, path } of plugins ?? [])
    if (!Object.hasOwn(named, name) || (path && path !== named[name]))
      throw closed("plugins", { what: "this plugin", setting: "plugins", names: Object.keys(named) });
}

export function checkMcpServers(
  { mcp_servers }: Given,
  { mcpServers }: ClaudeSettings,
  { ownHosts, ...places }: Places & { readonly ownHosts: readonly string[] },
): void {
  for (const [name, server] of Object.entries(mcp_servers ?? {})) {
    const field = `mcp_servers.${name.slice(0, 100)}`;
    if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name))
      throw invalid(field, "Expected a short name of letters, digits, _, . and -.");
    if (server.type === "stdio") {
      if (!registered(server, mcpServers))
        throw closed(field, { what: "this MCP server", setting: "mcpServers", names: Object.keys(mcpServers) });
      if (Object.keys(server.env).length > 0)
        throw closed(`${field}.env`, { what: "variables for its own MCP servers" });
    } else {
      checkUrl(`${field}.url`, server.url ?? "", places);
      // The process calls the operator's hosts without the proxy. For such a host name, nothing would check the
      // address. IP addresses need no lookup and are already checked.
      const { hostname } = new URL(server.url ?? "");
      if (!isAddress(hostname) && ownHosts.includes(hostname)) throw closed(`${field}.url`, { what: "this host" });
    }
    checkHeaders(`${field}.headers`, server.headers);
  }
}

/** Finds the operator's server for a request, by name or by exactly the same command. */
export function registered(
  { command, args }: { readonly command?: string | null | undefined; readonly args: readonly string[] },
  servers: ClaudeSettings["mcpServers"],
): ClaudeSettings["mcpServers"][string] | undefined {
  if (command && Object.hasOwn(servers, command) && args.length === 0) return servers[command];
  return Object.values(servers).find(
    (server) =>
      server.type === "stdio" &&
      server.command === command &&
      server.args.length === args.length &&
      server.args.every((arg, index) => arg === args[index]),
  );
}

const RESERVED_HEADERS =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-.*|expect|accept-encoding|webhook-.*)$/i;

export function checkHooks({ hooks }: Given, places: Places): void {
  for (const [name, hook] of Object.entries(hooks ?? {})) {
    if (!hook) continue;
    if (name === "WorktreeCreate")
      throw invalid(
        "hooks.WorktreeCreate",
        "A receiver of this event must create the worktree, which a webhook cannot do.",
      );
    checkUrl(`hooks.${name}.url`, hook.url, places);
    checkHeaders(`hooks.${name}.headers`, hook.headers);
    if (hook.matcher) compileMatcher(hook.matcher, `hooks.${name}.matcher`);
  }
}

/** Compiles a pattern for tool names with a regex engine of linear time. `*` and an empty pattern match every tool. */
export function compileMatcher(matcher: string, field = "matcher"): { matches(name: string): boolean } {
  if (matcher === "*" || matcher === "") return { matches: () => true };
  try {
    const pattern = RE2JS.compile(matcher);
    // The pattern must match the whole name, as in Claude Code. `Edit` does not match `NotebookEdit`.
    return { matches: (name) => pattern.matches(name) };
  } catch {
    throw invalid(field, "This pattern cannot be read. Look-around and back-references are not supported.");
  }
}

function checkUrl(field: string, url: string, places: Places): void {
  const problem = urlProblem(url, places);
  if (problem !== undefined) throw new KnownError("url_not_allowed", `${field}: ${problem}`);
}

function checkHeaders(field: string, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (RESERVED_HEADERS.test(name))
      throw invalid(field, `The header ${name.slice(0, 100)} is reserved: requests cannot set it.`);
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw invalid(field, "The name or the value is not valid in an HTTP header.");
    }
  }
}

function isAddress(hostname: string): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, "")) !== 0;
}

function invalid(field: string, sentence: string): KnownError {
  return new KnownError("invalid", `${field}: ${sentence}`);
}

interface Closed {
  readonly what: string;
  /** The setting under `claude` that would allow the value. */
  readonly setting?: keyof ClaudeSettings;
  /** The values that requests can name. */
  readonly names?: readonly string[];
}

export function closed(field: string, { what, setting, names = [] }: Closed): KnownError {
  const sentences = [
    `${field}: The operator of this server does not allow ${what}.`,
    ...(names.length > 0 ? [`These can be named: ${names.join(", ")}.`] : []),
    ...(setting ? [opens(setting)] : []),
  ];
  return new KnownError("not_allowed", sentences.join(" "));
}

function opens(setting: keyof ClaudeSettings): string {
  return `The operator can allow it with claude.${setting} in skein.config.ts.`;
}
