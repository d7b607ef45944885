import type { Caller } from "./request-context.ts";

/**
 * Deletes a session with everything that is kept of it beside its log: generated files, and what Claude Code has on disk.
 *
 * Files are removed first: if the file store is unavailable, the session still exists and can be deleted again. They are
 * removed once more at the end, because a run may have made a file in between.
 */
export async function deleteSession(
  { shared: { deps }, sessions, principal }: Caller,
  sessionId: string,
): Promise<void> {
  await deps.files?.deleteSession?.(sessionId);
  await sessions.delete(sessionId);
  deps.bus?.show({ kind: "deleted", sessionId });
  await deps.claude?.forget(sessionId, principal);
  deps.forgetSession?.({ tenant: principal.tenant, sessionId });
  await deps.files?.deleteSession?.(sessionId);
}
