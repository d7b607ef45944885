/** How many runs may have a process at once. A run that finds no place waits for one. */
export interface ProcessSlots {
  readonly taken: number;
  readonly waiting: number;
  /** Resolves with what gives the place back; undefined if it was stopped first. */
  take(signal: AbortSignal): Promise<(() => void) | undefined>;
}

/** `hasRoom` may refuse a place besides, but never the only one: nobody would give one back. */
export function createProcessSlots(max: number, hasRoom: () => Promise<boolean>): ProcessSlots {
  const queue: (() => void)[] = [];
  let taken = 0;

  function giveBack(): void {
    taken -= 1;
    queue.shift()?.();
  }

  /** Resolves when a place was given back, or when it is stopped. */
  async function turn(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const leave = (): void => {
        const place = queue.indexOf(go);
        if (place !== -1) queue.splice(place, 1);
        resolve();
      };
      const go = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      queue.push(go);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  return {
    get taken() {
      return taken;
    },
    get waiting() {
      return queue.length;
    },
    async take(signal) {
      while (!signal.aborted) {
        if (taken < max) {
          taken += 1;
          if (taken === 1 || (await hasRoom())) return once(giveBack);
          taken -= 1;
        }
        if (taken > 0) await turn(signal);
      }
      // It may have been woken just before: then it is the next one's turn.
      queue.shift()?.();
      return undefined;
    },
  };
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
