import { type ClaudeOptions, KnownError } from "@skein/protocol";
import type { Caller } from "../call.ts";
import { allows } from "../keys.ts";
import { recordedOptions } from "./session-options.ts";

/**
 * A key says nothing to a session that has more rights than the key could have asked for: one that an admin let bypass
 * permissions goes on with admins, and with others in a mode that they give.
 */
export async function checkRights(
  { shared, principal, sessions }: Caller,
  sessionId: string,
  { permission_mode }: Pick<Partial<ClaudeOptions>, "permission_mode"> = {},
): Promise<void> {
  if (!shared.deps.claude?.bypass || permission_mode || allows(principal, "admin")) return;
  const state = await sessions.state(sessionId);
  const mode = state.control.permissionMode ?? recordedOptions(state)?.permission_mode;
  if (mode === "bypassPermissions")
    throw new KnownError(
      "not_allowed",
      "permission_mode: This session bypasses permissions, which needs a key with the scope admin. Resume it with another permission_mode, or with such a key.",
    );
}
