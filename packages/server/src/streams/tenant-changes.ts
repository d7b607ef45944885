import type { ChangedSession, Store } from "@skein/core";

export interface TenantChangesDeps {
  readonly store: Store;
  readonly now: () => number;
  readonly report: (error: unknown) => void;
  /** How long ids of changed sessions are collected before the sessions are read. */
  readonly gatherMs?: number;
  /** How often the store is queried for changes that were not announced. */
  readonly sweepMs?: number;
}

/** Tells listeners about changes of a tenant's sessions. Reads the store once for all listeners of this process. */
export interface TenantChanges {
  subscribe(tenant: string, listener: ChangesListener): TenantSubscription;
  stop(): void;
}

type ChangesListener = (changes: readonly ChangedSession[]) => void;

interface TenantSubscription {
  /** Returns a time. The listener has received every change that was written at least MARGIN_MS before this time. */
  completeUntil(): number;
  end(): void;
}

/**
 * A sweep and a reconnecting reader start this long before the last change that they saw. An event has the time of its
 * writer's clock and may be committed later, so older changes can still appear.
 */
export const MARGIN_MS = 60_000;
const GATHER_MS = 100;
const SWEEP_MS = 15_000;
const PAGE = 500;
/** How many changed sessions are collected. If there are more, a sweep finds them. */
const MOST_NEWS = 5000;

interface Tenant {
  readonly listeners: Set<ChangesListener>;
  completeUntil: number;
}

export function createTenantChanges(deps: TenantChangesDeps): TenantChanges {
  const { store, now, report, gatherMs = GATHER_MS, sweepMs = SWEEP_MS } = deps;
  const tenants = new Map<string, Tenant>();
  const news = new Set<string>();
  let gathering: NodeJS.Timeout | undefined;
  let sweeping: NodeJS.Timeout | undefined;
  let stopListening: (() => void) | undefined;
  /**
   * The last read of the store. Reads are sequential, so that a slow store is not queried twice for the same changes.
   */
  let work: Promise<void> = Promise.resolve();

  const afterThat = (job: () => Promise<void>): void => void (work = work.then(job).catch(report));

  /** Reads the changed sessions. If that fails, the next sweep finds them. */
  async function ask(): Promise<void> {
    const ids = [...news];
    news.clear();
    for (const [name, tenant] of tenants)
      for (let at = 0; at < ids.length; at += PAGE) {
        const sessionIds = ids.slice(at, at + PAGE);
        const { items } = await store.changed({ tenant: name, sessionIds, limit: PAGE });
        tell(tenant, items);
      }
  }

  async function sweep(): Promise<void> {
    for (const [name, tenant] of tenants) {
      const began = now();
      const since = new Date(tenant.completeUntil - MARGIN_MS).toISOString();
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await store.changed({
          tenant: name,
          since,
          limit: PAGE,
          ...(cursor !== undefined && { cursor }),
        });
        tell(tenant, page.items);
        cursor = page.cursor;
      }
      tenant.completeUntil = began;
    }
  }

  function tell({ listeners }: Tenant, changes: readonly ChangedSession[]): void {
    if (changes.length > 0) for (const listener of listeners) listener(changes);
  }

  function hear(sessionId: string): void {
    if (news.size >= MOST_NEWS) return;
    news.add(sessionId);
    if (news.size >= MOST_NEWS) afterThat(sweep);
    gathering ??= setTimeout(() => {
      gathering = undefined;
      afterThat(ask);
    }, gatherMs).unref();
  }

  function begin(): void {
    stopListening ??= store.onNews(hear);
    sweeping ??= setInterval(() => afterThat(sweep), sweepMs).unref();
  }

  function stop(): void {
    stopListening?.();
    stopListening = undefined;
    clearInterval(sweeping);
    sweeping = undefined;
    clearTimeout(gathering);
    gathering = undefined;
    news.clear();
  }

  return {
    subscribe(name, listener) {
      begin();
      const tenant = tenants.get(name) ?? { listeners: new Set(), completeUntil: now() };
      tenants.set(name, tenant);
      tenant.listeners.add(listener);
      return {
        completeUntil: () => tenant.completeUntil,
        end() {
          tenant.listeners.delete(listener);
          if (tenant.listeners.size === 0) tenants.delete(name);
          if (tenants.size === 0) stop();
        },
      };
    },
    stop,
  };
}
