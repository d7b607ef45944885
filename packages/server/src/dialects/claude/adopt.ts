import { derivedId } from "@skein/core";
import { type ClaudeFile, KnownError, isKnownError } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import type { RequestContext, Handlers } from "../../request-context.ts";
import type { Adoption } from "./adoption.ts";
import { claudeSession } from "./accept.ts";
import { storeClaudeAgent } from "./built-in-agent.ts";
import { OPERATOR } from "../../keys.ts";
import { sessionResponse } from "./session-response.ts";

export const adoptHandlers = {
  async adoptClaudeSession({ body: { files } }, call) {
    const { adopt } = adoptionOf(call);
    call.shared.meter.session(call.principal.keyId);
    await storeClaudeAgent(call);
    const { tenant } = call.principal;
    return sessionResponse(await adopt(ownIds(files, tenant), { tenant, folderFor: folderFor(call) }));
  },
  async exportClaudeSession({ params: { session_id } }, call) {
    await claudeSession(call, session_id);
    const { filesOf } = adoptionOf(call);
    return { session_id, files: [...filesOf(session_id, await call.sessions.events(session_id))] };
  },
} satisfies Partial<Handlers>;

const SESSION_IN_PATH = /(?<=^(?:projects\/[^/]+|file-history)\/)[0-9a-f-]{36}/;

/**
 * Replaces the session ids in files by ids that only this tenant can have. Session ids are unique across all tenants.
 * If another tenant had adopted the same session, the error for its original id would reveal that tenant's session.
 */
function ownIds(files: readonly ClaudeFile[], tenant: string): readonly ClaudeFile[] {
  // Sessions that the operator's tenant adopts keep their ids.
  if (tenant === OPERATOR) return files;
  const ids = new Set(files.flatMap(({ path }) => SESSION_IN_PATH.exec(path)?.[0] ?? []));
  return [...ids].reduce((renamed, id) => {
    const own = derivedId("adopted", tenant, id);
    return renamed.map((file) => ({
      ...file,
      path: file.path.replace(id, own),
      content:
        file.encoding === "utf8"
          ? file.content.replaceAll(new RegExp(`("sessionId"\\s*:\\s*")${id}"`, "g"), `$1${own}"`)
          : file.content,
    }));
  }, files);
}

function adoptionOf({ shared }: RequestContext): Adoption {
  const { adoption } = shared.deps;
  if (!adoption) throw new KnownError("not_found", "Adopting sessions is off on this server.");
  return adoption;
}

/** Returns the folder for an adopted session, or null if the operator has not allowed the original folder. */
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
      // If the folder is not allowed, missing or not a path, the session cannot work there.
      if (error instanceof ApiError || isKnownError(error, "invalid", "not_found", "not_allowed")) return null;
      throw error;
    }
  };
}
