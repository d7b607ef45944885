import { type SessionState, parseInput } from "@skein/core";
import { ClaudeOptions, KnownError } from "@skein/protocol";
import type { Caller } from "../../request-context.ts";

/** Returns the options that the request names. Other options are inherited and get no defaults. */
export function givenOptions(body: object, raw: unknown): Partial<ClaudeOptions> {
  const named = raw as Readonly<Record<string, unknown>>;
  const entries = Object.entries(body).filter(
    ([key]) => Object.hasOwn(ClaudeOptions.shape, key) && named[key] !== undefined && named[key] !== null,
  );
  return Object.fromEntries(entries);
}

/** Returns all options of a new session. Options that the request leaves out get the Claude API's defaults. */
export function allOptions(body: object): ClaudeOptions {
  const entries = Object.entries(body).filter(([key]) => Object.hasOwn(ClaudeOptions.shape, key));
  return ClaudeOptions.parse(Object.fromEntries(entries));
}

/** The options that the session was created with; undefined if its runtime is not Claude Code. */
export function recordedOptions({ agent }: SessionState): ClaudeOptions | undefined {
  if (agent?.runtime !== "claude-code") return undefined;
  const parsed = ClaudeOptions.safeParse(agent.extras["claude"] ?? {});
  return parsed.success ? parsed.data : ClaudeOptions.parse({});
}

/** Returns the options of one run. Rejects Claude Code's options for a session with another runtime. */
export function runOptions(given: Partial<ClaudeOptions>, recorded: ClaudeOptions | undefined): Partial<ClaudeOptions> {
  if (recorded) return given;
  const { include_partial_messages, ...others } = given;
  const [name] = Object.keys(others);
  if (name !== undefined)
    throw new KnownError(
      "invalid",
      `${name}: This session does not run on Claude Code, so its agent decides this option.`,
    );
  return include_partial_messages === undefined ? {} : { include_partial_messages };
}

/**
 * Rejects options of an agent if the caller could not use them in a request. Sessions of the agent start with these
 * options.
 */
export async function checkClaudeOptions({ shared, principal }: Caller, given: unknown): Promise<void> {
  const options = parseInput(ClaudeOptions, given);
  // Options with secrets are rejected, because every key with the scope `read` sees the agent.
  const { env, hooks, mcp_servers, ...others } = options;
  const remote = Object.values(mcp_servers ?? {}).some(({ type }) => type !== "stdio");
  if (Object.keys(env).length > 0 || Object.keys(hooks ?? {}).length > 0 || remote)
    throw new KnownError(
      "invalid",
      "extras.claude: env, hooks and remote MCP servers belong to a session, not to an agent.",
    );
  const request = { principal, sessionId: shared.ids() };
  await shared.deps.claude?.admit({ ...others, ...(mcp_servers && { mcp_servers }) }, request);
}
