import type { Caller } from "./request-context.ts";

/**
 * Deletes a session with everything that is kept of it beside its log: generated files, and what Claude Code has on disk.
 *
 * Files go first: if their place is away, the session is still there and can be deleted again. They go once more at the
 * end, because a run may have made one meanwhile.
 */
export async function deleteSession(
  { shared: { deps }, sessions, principal }: Caller,
  sessionId: string,
): Promise<void> {
  await deps.files?.deleteSession?.(sessionId);
  await sessions.delete(sessionId);
  deps.bus?.show({ kind: "deleted", sessionId });
  await deps.claude?.forget(sessionId, principal);
  await deps.files?.deleteSession?.(sessionId);
}
