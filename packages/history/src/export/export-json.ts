import type { AgentSession, Session } from "../model/types.ts";

/**
 * A session as JSON. It has every line: valid lines unchanged in `raw` and `moreLines`, damaged lines as text in `damage`. What
 * JSON cannot represent (bytes that are not UTF-8, the spelling of numbers) is only in the format `jsonl`.
 */
export function toJson(session: Session, agents: readonly AgentSession[] = []): string {
  return JSON.stringify({ ...session, agentSessions: agents }, undefined, 2);
}
