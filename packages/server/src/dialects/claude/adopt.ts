import { type ClaudeFile, type Event, KnownError, type Session, isKnownError } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import type { Call, Handlers } from "../../call.ts";
import { claudeSession } from "./accept.ts";
import { storeClaudeAgent } from "./built-in-agent.ts";
import { sessionResponse } from "./session-response.ts";

/** What the server needs of those who know Claude Code's files. */
export interface Adoption {
  /** Makes a session of these files. `folderFor` says in which folder a session of such a folder may work here. */
  adopt(
    files: readonly ClaudeFile[],
    to: { readonly tenant: string; readonly folderFor: (cwd: string, sessionId: string) => Promise<string | null> },
  ): Promise<Session>;
  /** The files of a session. Refuses one that has no transcript of Claude Code. */
  filesOf(sessionId: string, events: readonly Event[]): readonly ClaudeFile[];
}

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

function adoptionOf({ shared }: Call): Adoption {
  const { adoption } = shared.deps;
  if (!adoption) throw new KnownError("not_found", "This server adopts no sessions.");
  return adoption;
}

/** The folder of a session from elsewhere is its folder here only if the operator has opened it. */
function folderFor({ shared, principal }: Call): (cwd: string, sessionId: string) => Promise<string | null> {
  return async (cwd, sessionId) => {
    const gate = shared.deps.claude;
    if (!gate) return null;
    try {
      return (await gate.admit({ cwd }, { principal, sessionId })).cwd ?? null;
    } catch (error) {
      // Not open, not there, no path: whatever the reason, it is not a folder to work in here.
      if (error instanceof ApiError || isKnownError(error, "invalid", "not_found", "not_allowed")) return null;
      throw error;
    }
  };
}
