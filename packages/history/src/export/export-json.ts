import type { AgentSession, Session } from "../model/types.ts";

/** A session with all that was read of it. Lines are complete: what the model has no field for is in `raw`. */
export function toJson(session: Session, agents: readonly AgentSession[] = []): string {
  return JSON.stringify({ ...session, agentSessions: agents }, undefined, 2);
}
