import { claudeAgent, createAgents } from "@skein/core";
import { ClaudeOptions, isKnownError } from "@skein/protocol";
import type { Caller, ServerContext } from "../../request-context.ts";

const plain = claudeAgent(ClaudeOptions.parse({}));
export const CLAUDE_AGENT_ID = plain.id;

/** The tenants of each server that are known to have the built-in agent. */
const having = new WeakMap<ServerContext, Set<string>>();

/** Stores the built-in agent in the caller's tenant, so that `/v1` can show the agent of its sessions. */
export async function storeClaudeAgent(call: Caller): Promise<void> {
  const { shared, principal } = call;
  const tenants = having.get(shared) ?? new Set();
  having.set(shared, tenants);
  if (tenants.has(principal.tenant)) return;
  await store(call);
  tenants.add(principal.tenant);
}

async function store({ agents, principal, shared }: Caller): Promise<void> {
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
    // Another request stored the agent first.
    if (!isKnownError(error, "already_exists", "conflict")) throw error;
  }
}
