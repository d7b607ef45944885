import { type OfferQuery, KnownError, mcpServerStatuses } from "@skein/protocol";
import type { Handlers, RequestContext } from "../../request-context.ts";
import { claudeSession, openGate } from "./accept.ts";
import { checkpointIn } from "./checkpoints.ts";

/** Routes for what Claude Code offers to a new session, and for the files that a session changed. */
export const offerHandlers = {
  async claudeOffer({ query }, call) {
    const gate = await openGate(call);
    const { mcp_servers, ...offer } = await gate.offer(optionsOf(query), call.principal);
    const model = call.shared.deps.defaultModel;
    return {
      ...offer,
      default_model: model,
      mcp_servers: mcpServerStatuses(mcp_servers),
      opened: gate.opened(call.principal),
    };
  },
  async listChangedFiles({ params: { session_id } }, call) {
    const files = await changedFiles(call, session_id);
    return { files: files.map(({ diff: _, ...file }) => file) };
  },
  async getFileDiff({ params: { session_id }, query: { path, rewind_to } }, call) {
    const files = await changedFiles(call, session_id, rewind_to);
    if (path === undefined) return { files: [...files] };
    const file = files.find((one) => one.path === path);
    if (!file) throw new KnownError("not_found", `path: No tool of session ${session_id} has changed ${path}.`);
    return { files: [file] };
  },
} satisfies Partial<Handlers>;

async function changedFiles(call: RequestContext, sessionId: string, rewindTo?: string) {
  await claudeSession(call, sessionId);
  const { adoption } = call.shared.deps;
  if (!adoption) return [];
  const message =
    rewindTo === undefined ? undefined : (await checkpointIn(call, sessionId, rewindTo)).user_message_uuid;
  return adoption.changedFiles(await call.sessions.events(sessionId), message);
}

/** Converts the query string to options of Claude Code. */
function optionsOf({ cwd, setting_sources, plugins, mcp_servers }: OfferQuery) {
  return {
    ...(cwd !== undefined && { cwd }),
    ...(setting_sources && { setting_sources }),
    ...(plugins && { plugins: plugins.map((name) => ({ name, enabled: true })) }),
    ...(mcp_servers && {
      mcp_servers: Object.fromEntries(
        mcp_servers.map((name) => [name, { type: "stdio" as const, command: name, args: [], env: {}, headers: {} }]),
      ),
    }),
  };
}
