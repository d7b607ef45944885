import type { SessionState } from "@skein/core";
import { ClaudeOptions, KnownError } from "@skein/protocol";

/** Options that a request really named: what it left out is inherited, and has no default then. */
export function givenOptions(body: object, raw: unknown): Partial<ClaudeOptions> {
  const named = raw as Readonly<Record<string, unknown>>;
  const entries = Object.entries(body).filter(
    ([key]) => Object.hasOwn(ClaudeOptions.shape, key) && named[key] !== undefined && named[key] !== null,
  );
  return Object.fromEntries(entries);
}

/** All options of a new session, those that were left out with the seed's defaults. */
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
