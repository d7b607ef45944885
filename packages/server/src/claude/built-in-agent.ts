import { claudeAgent, createAgents } from "@skein/core";
import { ClaudeOptions, isKnownError } from "@skein/protocol";
import type { Caller } from "../call.ts";

const plain = claudeAgent(ClaudeOptions.parse({}));
export const CLAUDE_AGENT_ID = plain.id;

/** Keeps the built-in agent where `/v1` can show it, in each tenant that has sessions of it. */
export async function storeClaudeAgent({ agents, principal, shared }: Caller): Promise<void> {
  try {
    await agents.get(CLAUDE_AGENT_ID);
    return;
  } catch (error) {
    if (!isKnownError(error, "not_found")) throw error;
  }
  const { tenant } = principal;
  const { records } = shared.deps.store;
  const { config } = plain;
  try {
    await createAgents({ records, tenant, now: shared.now, ids: () => CLAUDE_AGENT_ID }).create(config);
  } catch (error) {
    // Another request was first.
    if (!isKnownError(error, "already_exists", "conflict")) throw error;
  }
}
