import type { AgentSession, Session } from "../model/types.ts";

/**
 * Writes a session as JSON. Valid lines are in `raw` and `moreLines`, damaged lines are text in `damage`. Only the
 * format `jsonl` keeps bytes that are not UTF-8, and the spelling of numbers.
 */
export function toJson(session: Session, agents: readonly AgentSession[] = []): string {
  return JSON.stringify({ ...session, agentSessions: agents }, undefined, 2);
}
