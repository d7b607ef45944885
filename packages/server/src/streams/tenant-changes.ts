import type { ChangedSession, Store } from "@skein/core";

export interface TenantChangesDeps {
  readonly store: Store;
  readonly now: () => number;
  readonly report: (error: unknown) => void;
  /** How long news are gathered before the store is asked for their sessions. */
  readonly gatherMs?: number;
  /** How often the store is asked for changes that nobody announced. */
  readonly sweepMs?: number;
}

/** Changes of the sessions of a tenant, for everybody who listens in this process: the store is asked once for all of them. */
export interface TenantChanges {
  subscribe(tenant: string, listener: ChangesListener): TenantSubscription;
  stop(): void;
}

export type ChangesListener = (changes: readonly ChangedSession[]) => void;

export interface TenantSubscription {
  /** Every change that was written well before this time has been handed over. */
  completeUntil(): number;
  end(): void;
}

/**
 * How far back a sweep and a reader that comes again look beyond what they have seen: an event has the time of its
 * writer's clock, and may be committed a little later.
 */
export const MARGIN_MS = 60_000;
const GATHER_MS = 100;
const SWEEP_MS = 15_000;
const PAGE = 500;
/** Sessions with news that wait for being asked for. With more of them, a sweep finds them all. */
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
  /** One at a time, so that a slow store is not asked twice for the same. */
  let work: Promise<void> = Promise.resolve();

  const afterThat = (job: () => Promise<void>): void => void (work = work.then(job).catch(report));

  /** Asks for the sessions that have news. What cannot be asked for now is found by the next sweep. */
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
