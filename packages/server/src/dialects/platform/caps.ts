import { capUses } from "@skein/core";
import type { ApiCap } from "@skein/protocol";
import type { RequestContext } from "../../request-context.ts";

/**
 * The caps (limits of the operator) on the runs that an API key of the caller's tenant starts, and the current use of
 * each cap.
 */
export async function capsOfKey(call: RequestContext, keyName: string): Promise<ApiCap[]> {
  const { shared, principal } = call;
  const { caps: rules, store } = shared.deps;
  if (!rules) return [];
  const { tenant } = principal;
  const names = ["", ...(await ownAgents(call, rules.agents))];
  const all = names.flatMap((agentName) => rules.of({ tenant, keyName, agentName }));
  const once = new Map(all.map((cap) => [cap.scope, cap]));
  return [...(await capUses(store.records, [...once.values()], shared.now()))];
}

/** Returns the agents of this tenant that have caps. Agents of other tenants stay hidden. */
async function ownAgents({ agents }: RequestContext, capped: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  if (capped.length === 0) return [];
  for (let cursor: string | undefined; ;) {
    const page = await agents.list({ limit: 100, ...(cursor !== undefined && { cursor }) });
    for (const { config } of page.items) if (capped.includes(config.name)) found.add(config.name);
    if (page.cursor === null || found.size === capped.length) return [...found].toSorted();
    cursor = page.cursor;
  }
}
