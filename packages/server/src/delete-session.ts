import type { Records } from "@skein/core";
import { forgetAnswers } from "./http/idempotency.ts";
import type { Caller } from "./request-context.ts";
import { forgetDeliveries } from "./webhooks/webhook-deliveries.ts";

/**
 * Deletes a session, and its data outside the log: stored responses, notices to webhooks, Claude Code's files and the
 * working folder.
 */
export async function deleteSession(
  { shared: { deps }, sessions, principal }: Caller,
  sessionId: string,
): Promise<void> {
  await sessions.delete(sessionId);
  deps.bus?.show({ kind: "deleted", sessionId });
  await deps.claude?.forget(sessionId, principal);
  await deps.forgetSession?.({ tenant: principal.tenant, sessionId });
  await forgetSessionRecords(deps.store.records, sessionId);
}

/** Removes the data that a server stores about a session outside its log. */
export async function forgetSessionRecords(records: Records, sessionId: string): Promise<void> {
  await forgetAnswers(records, sessionId);
  await forgetDeliveries(records, sessionId);
}
