import type { Bus, Shown } from "@skein/core";
import { randomUUID } from "node:crypto";

/** The parts that all machines of a memory bus share. */
export interface MemoryHub {
  /** Adds a machine to this bus. */
  connect(): Bus;
  /** What `show` was called with, newest last. A Redis bus writes this data to Redis, for people who inspect it. */
  readonly shown: readonly Shown[];
}

/** Creates the bus for one process. Each call of `connect` adds a bus that acts as a separate machine. */
export function createMemoryHub(): MemoryHub {
  const listeners = new Map<string, Set<{ readonly instance: string; readonly hear: (words: unknown) => void }>>();
  const shown: Shown[] = [];

  function connect(): Bus {
    const instance = randomUUID();
    const leaves = new Set<() => void>();
    return {
      instance,
      say(channel, words) {
        // Messages are serialised as JSON and delivered later, so that tests cannot rely on more than a real bus
        // guarantees.
        const text = JSON.stringify(words);
        queueMicrotask(() => {
          for (const listener of listeners.get(channel) ?? [])
            if (listener.instance !== instance) listener.hear(JSON.parse(text));
        });
      },
      listen(channel, hear) {
        const listener = { instance, hear };
        const set = listeners.get(channel) ?? new Set();
        listeners.set(channel, set.add(listener));
        const leave = (): void => {
          set.delete(listener);
          if (set.size === 0 && listeners.get(channel) === set) listeners.delete(channel);
        };
        leaves.add(leave);
        return leave;
      },
      show: (what) => void shown.push(what),
      check: async () => {},
      async close() {
        for (const leave of leaves) leave();
      },
    };
  }

  return { connect, shown };
}
