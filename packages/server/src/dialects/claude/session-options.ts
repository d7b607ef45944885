import { type SessionState, parseInput } from "@skein/core";
import { ClaudeOptions, KnownError } from "@skein/protocol";
import type { Caller } from "../../request-context.ts";

/** Options that a request really named: what it left out is inherited, and has no default then. */
export function givenOptions(body: object, raw: unknown): Partial<ClaudeOptions> {
  const named = raw as Readonly<Record<string, unknown>>;
  const entries = Object.entries(body).filter(
    ([key]) => Object.hasOwn(ClaudeOptions.shape, key) && named[key] !== undefined && named[key] !== null,
  );
  return Object.fromEntries(entries);
}

/** All options of a new session, those that were left out with the Claude API's defaults. */
export function allOptions(body: object): ClaudeOptions {
  const entries = Object.entries(body).filter(([key]) => Object.hasOwn(ClaudeOptions.shape, key));
  return ClaudeOptions.parse(Object.fromEntries(entries));
}

/** What the session itself was begun with; undefined for one that is not Claude Code's. */
export function recordedOptions({ agent }: SessionState): ClaudeOptions | undefined {
  if (agent?.runtime !== "claude-code") return undefined;
  const parsed = ClaudeOptions.safeParse(agent.extras["claude"] ?? {});
  return parsed.success ? parsed.data : ClaudeOptions.parse({});
}

/** What a run does differently from its session: everything that was given, where it is Claude Code's. */
export function runOptions(given: Partial<ClaudeOptions>, recorded: ClaudeOptions | undefined): Partial<ClaudeOptions> {
  if (recorded) return given;
  const { include_partial_messages, ...others } = given;
  const [name] = Object.keys(others);
  if (name !== undefined)
    throw new KnownError("invalid", `${name}: This session is not Claude Code's. It works as its agent says.`);
  return include_partial_messages === undefined ? {} : { include_partial_messages };
}

/** Refuses options of an agent that a request could not have: the agent's sessions begin with them. */
export async function checkClaudeOptions({ shared, principal }: Caller, given: unknown): Promise<void> {
  const options = parseInput(ClaudeOptions, given);
  // Secrets belong to one session, and an agent is shown to everybody who may read.
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
