import { type ClaudeOptions, KnownError } from "@skein/protocol";
import type { Caller } from "../../request-context.ts";
import { allows } from "../../keys.ts";
import type { ClaudeGate } from "./gate.ts";
import { recordedOptions } from "./session-options.ts";

/** Refuses a key that may not run Claude Code. */
export function checkOpen(gate: ClaudeGate, { principal }: Pick<Caller, "principal">): void {
  if (gate.opens(principal)) return;
  throw new KnownError(
    "not_allowed",
    `Claude Code runs commands as the server's user, so it needs a key with the scope admin. The operator can open it for this key: SKEIN_CLAUDE_KEYS="${principal.name}".`,
  );
}

/**
 * Refuses a prompt or an answer to a session that has more rights than the key could have asked for: a session of Claude
 * Code for a key that may not run it, and one that an admin let bypass permissions, unless the request gives another mode.
 */
export async function checkRights(
  call: Caller,
  sessionId: string,
  { permission_mode }: Pick<Partial<ClaudeOptions>, "permission_mode"> = {},
): Promise<void> {
  const { shared, principal, sessions } = call;
  const { claude } = shared.deps;
  if (!claude || allows(principal, "admin")) return;
  if (!claude.opens(principal) && (await isClaudeCode(call, sessionId))) checkOpen(claude, call);
  if (!claude.bypass || permission_mode) return;
  const state = await sessions.state(sessionId);
  const mode = state.control.permissionMode ?? recordedOptions(state)?.permission_mode;
  if (mode === "bypassPermissions")
    throw new KnownError(
      "not_allowed",
      "permission_mode: This session bypasses permissions, which needs a key with the scope admin. Resume it with another permission_mode, or with such a key.",
    );
}

/** A session has the runtime that it was created with, so its first event is enough. */
async function isClaudeCode({ sessions }: Caller, sessionId: string): Promise<boolean> {
  const [first] = await sessions.events(sessionId, { limit: 1 });
  return first?.event_type === "session.created" && first.data.agent.runtime === "claude-code";
}
