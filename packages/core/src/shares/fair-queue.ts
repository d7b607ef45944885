/**
 * Places that the tenants of a process share: running sessions, processes, statements, bytes. Reasons:
 * docs/decisions/175-shared-by-turns.md.
 *
 * - A free place goes to the waiting tenant with the fewest places. If several tenants have equally few, it goes to the
 *   tenant that was served longest ago. So a long backlog of one tenant does not delay another tenant.
 * - With several tenants, a tenant may have at most three places for every place that stays free. Only its first place
 *   does not depend on this. So one tenant never takes all places.
 * - A tenant without a place is never overtaken, even if its request is large.
 */
export interface FairQueue {
  /** Waits for a place. Returns undefined if the signal aborts first. */
  take(
    tenant: string,
    asked?: { readonly size?: number; readonly signal?: AbortSignal },
  ): Promise<GiveBack | undefined>;
  /** Takes a place if a place is free and no earlier request waits for it. Otherwise returns undefined. */
  tryTake(tenant: string, size?: number): GiveBack | undefined;
  figures(): QueueFigures;
}

/** Frees a place. A second call does nothing. */
export type GiveBack = () => void;

export interface QueueFigures {
  readonly places: number;
  readonly taken: number;
  readonly waiting: number;
  /** How many tenants wait. */
  readonly tenants: number;
}

export interface FairQueueOptions {
  readonly places: number;
  /**
   * Whether the store has several tenants. If undefined, the queue counts only the tenants that have made a request.
   */
  readonly isShared?: (() => boolean) | undefined;
  /** `take` asks this before it gives a place while other places are taken. If false, the request goes on waiting. */
  readonly hasRoom?: (() => Promise<boolean>) | undefined;
}

/** The tenant of a place until the real tenant is known. It does not count as another tenant. */
export const UNKNOWN_TENANT = "";

/** With several tenants, a tenant may have at most this many places for every place that stays free. */
const SHARE = 3;

interface Waiter {
  readonly size: number;
  readonly go: (giveBack: GiveBack | undefined) => void;
}

interface Line {
  held: number;
  /** How many places all tenants together had got so far, at the time when this tenant last got a place. */
  servedAt: number;
  readonly waiting: Waiter[];
}

export function createFairQueue({ places, isShared = () => false, hasRoom }: FairQueueOptions): FairQueue {
  /**
   * The lines of the tenants that have a place or wait for a place. A line has the number of the tenant's places and
   * its waiting requests.
   */
  const lines = new Map<string, Line>();
  let taken = 0;
  let waiting = 0;
  let services = 0;
  let isGiving = false;
  let giveAgain = false;
  let first: string | undefined;
  let several = false;

  /**
   * Returns the line of a tenant. A new tenant comes after all other tenants except the tenant that was served last.
   */
  function lineOf(tenant: string): Line {
    if (tenant !== UNKNOWN_TENANT) {
      first ??= tenant;
      several ||= tenant !== first;
    }
    const line = lines.get(tenant) ?? { held: 0, servedAt: services - 0.5, waiting: [] };
    lines.set(tenant, line);
    return line;
  }

  /** `full`: no place is left. `share`: the tenant already has its share. */
  function refusal({ held }: Line, size: number): "full" | "share" | undefined {
    const free = places - taken - size;
    if (free < 0) return taken === 0 ? undefined : "full";
    if (held === 0 || !(several || isShared())) return undefined;
    return held + size > SHARE * free ? "share" : undefined;
  }

  function hold(tenant: string, line: Line, size: number): GiveBack {
    taken += size;
    line.held += size;
    line.servedAt = services += 1;
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      taken -= size;
      line.held -= size;
      forgetIfDone(tenant, line);
      give();
    };
  }

  function forgetIfDone(tenant: string, line: Line): void {
    if (line.held === 0 && line.waiting.length === 0 && lines.get(tenant) === line) lines.delete(tenant);
  }

  /**
   * Returns the waiting tenant with the fewest places. If its request is larger than the free places, no tenant gets a
   * place.
   */
  function nextLine(): readonly [string, Line] | undefined {
    const asking = [...lines]
      .filter(([, line]) => line.waiting.length > 0)
      .sort(([, a], [, b]) => a.held - b.held || a.servedAt - b.servedAt);
    for (const entry of asking) {
      const problem = refusal(entry[1], entry[1].waiting[0]?.size ?? 0);
      if (problem === undefined) return entry;
      if (problem === "full") return undefined;
    }
    return undefined;
  }

  /**
   * Gives free places to waiting tenants. `hasRoom` is asked before every place, because each place changes its answer.
   */
  function give(): void {
    if (isGiving) {
      giveAgain = true;
      return;
    }
    if (waiting === 0) return;
    if (!hasRoom) {
      for (let next = nextLine(); next; next = nextLine()) giveTo(next);
      return;
    }
    isGiving = true;
    void giveWhileRoom(hasRoom).finally(() => {
      isGiving = false;
      if (!giveAgain) return;
      giveAgain = false;
      give();
    });
  }

  async function giveWhileRoom(ask: () => Promise<boolean>): Promise<void> {
    while (nextLine()) {
      if (taken > 0 && !(await ask())) return;
      const next = nextLine();
      if (next) giveTo(next);
    }
  }

  function giveTo([tenant, line]: readonly [string, Line]): void {
    const waiter = line.waiting.shift();
    if (!waiter) return;
    waiting -= 1;
    waiter.go(hold(tenant, line, waiter.size));
  }

  return {
    async take(tenant, { size = 1, signal } = {}) {
      if (signal?.aborted) return undefined;
      const line = lineOf(tenant);
      const asked = Promise.withResolvers<GiveBack | undefined>();
      const waiter: Waiter = { size: Math.min(size, places), go: asked.resolve };
      line.waiting.push(waiter);
      waiting += 1;
      const leave = (): void => {
        const at = line.waiting.indexOf(waiter);
        if (at === -1) return;
        line.waiting.splice(at, 1);
        waiting -= 1;
        forgetIfDone(tenant, line);
        asked.resolve(undefined);
        give();
      };
      signal?.addEventListener("abort", leave, { once: true });
      give();
      return asked.promise.finally(() => signal?.removeEventListener("abort", leave));
    },
    tryTake(tenant, size = 1) {
      const line = lineOf(tenant);
      const isFree = waiting === 0 && refusal(line, Math.min(size, places)) === undefined;
      if (isFree) return hold(tenant, line, Math.min(size, places));
      forgetIfDone(tenant, line);
      return undefined;
    },
    figures: () => ({
      places,
      taken,
      waiting,
      tenants: [...lines.values()].filter((line) => line.waiting.length > 0).length,
    }),
  };
}
