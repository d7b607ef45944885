import {
  type Agents,
  type Models,
  type Sessions,
  createAgents,
  createModels,
  createSessions,
  withHiddenPrompts,
} from "@skein/core";
import type { Ids } from "@skein/protocol";
import type { ServerDeps } from "./deps.ts";
import { type Principal, seesPrompts } from "./keys.ts";

/** The sessions, agents and models of one tenant. Other tenants' data does not exist in this view. */
export interface TenantView {
  readonly sessions: Sessions;
  readonly agents: Agents;
  readonly models: Models;
}

/** How many views are kept in memory. */
const MOST_VIEWS = 1000;

/**
 * Returns the data that a caller may see. The data is of the caller's tenant, with system prompts only if the caller
 * may run agents.
 */
export type ViewOf = (caller: Pick<Principal, "tenant" | "scopes"> & Partial<Pick<Principal, "name">>) => TenantView;

/** Creates the views of tenants. A view is created when it is first needed. */
export function createTenantViews({
  store,
  reserve,
  forget,
  ids,
  now,
  mostQueued,
}: Pick<ServerDeps, "store" | "reserve" | "forget"> & { ids: Ids; now: () => number; mostQueued: number }): ViewOf {
  const views = new Map<string, TenantView>();
  const readers = withHiddenPrompts(store);
  return (caller) => {
    const { tenant, name: keyName } = caller;
    const isReader = !seesPrompts(caller);
    const name = JSON.stringify([tenant, keyName, isReader]);
    const known = views.get(name);
    if (known) return known;
    const from = isReader ? readers : store;
    const { records } = from;
    const view = {
      sessions: createSessions({ store: from, tenant, now, ids, reserve, keyName, mostQueued, forget }),
      agents: createAgents({ records, tenant, now, ids }),
      models: createModels({ records, tenant, now, ids }),
    };
    if (views.size >= MOST_VIEWS) views.clear();
    views.set(name, view);
    return view;
  };
}
