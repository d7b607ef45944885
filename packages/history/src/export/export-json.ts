import type { AgentSession, Session } from "../model/types.ts";

/** A session as JSON. It is lossless: fields of a line that the data model does not have are in `raw`. */
export function toJson(session: Session, agents: readonly AgentSession[] = []): string {
  return JSON.stringify({ ...session, agentSessions: agents }, undefined, 2);
}
