import { KnownError, isKnownError } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import type { RequestContext, Handlers } from "../../request-context.ts";
import type { Adoption } from "./adoption.ts";
import { claudeSession } from "./accept.ts";
import { storeClaudeAgent } from "./built-in-agent.ts";
import { sessionResponse } from "./session-response.ts";

export const adoptHandlers = {
  async adoptClaudeSession({ body: { files } }, call) {
    const { adopt } = adoptionOf(call);
    call.shared.meter.session(call.principal.keyId);
    await storeClaudeAgent(call);
    return sessionResponse(await adopt(files, { tenant: call.principal.tenant, folderFor: folderFor(call) }));
  },
  async exportClaudeSession({ params: { session_id } }, call) {
    await claudeSession(call, session_id);
    const { filesOf } = adoptionOf(call);
    return { session_id, files: [...filesOf(session_id, await call.sessions.events(session_id))] };
  },
} satisfies Partial<Handlers>;

function adoptionOf({ shared }: RequestContext): Adoption {
  const { adoption } = shared.deps;
  if (!adoption) throw new KnownError("not_found", "This server adopts no sessions.");
  return adoption;
}

/** An adopted session keeps its folder only if the operator has opened that folder; otherwise null. */
export function folderFor({
  shared,
  principal,
}: RequestContext): (cwd: string, sessionId: string) => Promise<string | null> {
  return async (cwd, sessionId) => {
    const gate = shared.deps.claude;
    if (!gate) return null;
    try {
      return (await gate.admit({ cwd }, { principal, sessionId })).cwd ?? null;
    } catch (error) {
      // Closed, missing or not a path: in each case the session cannot work there.
      if (error instanceof ApiError || isKnownError(error, "invalid", "not_found", "not_allowed")) return null;
      throw error;
    }
  };
}
