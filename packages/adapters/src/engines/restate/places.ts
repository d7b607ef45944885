/** So many sessions are driven at once; who waits for a place gets one by turns of the tenants. */
export interface Places {
  /** Resolves with how to give the place back, or with undefined if the signal aborts first. */
  take(tenant: string, signal: AbortSignal): Promise<(() => void) | undefined>;
  readonly waiting: () => number;
}

export function createPlaces(count: number): Places {
  let free = count;
  /** Who waits, by tenant. The tenant whose turn it is stands first. */
  const queues = new Map<string, ((giveBack: () => void) => void)[]>();

  function giveBack(): void {
    const [next] = queues;
    if (!next) {
      free += 1;
      return;
    }
    const [tenant, queue] = next;
    const first = queue.shift();
    queues.delete(tenant);
    if (queue.length > 0) queues.set(tenant, queue);
    first?.(once(giveBack));
  }

  return {
    waiting: () => [...queues.values()].reduce((sum, queue) => sum + queue.length, 0),
    async take(tenant, signal) {
      if (signal.aborted) return undefined;
      if (free > 0) {
        free -= 1;
        return once(giveBack);
      }
      const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>();
      const queue = queues.get(tenant) ?? [];
      queues.set(tenant, queue);
      queue.push(resolve);
      const leave = (): void => {
        const place = queue.indexOf(resolve);
        if (place !== -1) queue.splice(place, 1);
        if (queue.length === 0 && queues.get(tenant) === queue) queues.delete(tenant);
        resolve(undefined);
      };
      signal.addEventListener("abort", leave, { once: true });
      return promise.finally(() => signal.removeEventListener("abort", leave));
    },
  };
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (!done) action();
    done = true;
  };
}
