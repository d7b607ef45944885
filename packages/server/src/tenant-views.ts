import { type Agents, type Models, type Sessions, createAgents, createModels, createSessions } from "@skein/core";
import type { Ids } from "@skein/protocol";
import type { ServerDeps } from "./deps.ts";

/** The sessions, agents and models of one tenant. Those of other tenants do not exist here. */
export interface TenantView {
  readonly sessions: Sessions;
  readonly agents: Agents;
  readonly models: Models;
}

/** How many views are kept in memory. */
const MOST_VIEWS = 1000;

/** Creates the view of a tenant, for the requests of one key, on first use. */
export function createTenantViews({
  store,
  reserve,
  forget,
  ids,
  now,
}: Pick<ServerDeps, "store" | "reserve" | "forget"> & { ids: Ids; now: () => number }): (
  tenant: string,
  keyName?: string,
) => TenantView {
  const views = new Map<string, TenantView>();
  const { records } = store;
  return (tenant, keyName) => {
    const name = JSON.stringify([tenant, keyName]);
    const known = views.get(name);
    if (known) return known;
    const view = {
      sessions: createSessions({ store, tenant, now, ids, reserve, keyName, forget }),
      agents: createAgents({ records, tenant, now, ids }),
      models: createModels({ records, tenant, now, ids }),
    };
    if (views.size >= MOST_VIEWS) views.clear();
    views.set(name, view);
    return view;
  };
}
