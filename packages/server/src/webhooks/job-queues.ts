/** Runs jobs in queues. Each queue runs a few jobs at the same time. A slow queue does not delay other queues. */
export interface JobQueues {
  /** Runs a job now or when its queue has room. Ignores a job whose id already waits or runs. */
  do(queue: string, id: string): void;
  /** Removes all waiting jobs. */
  clear(): void;
}

export interface JobQueuesOptions {
  /** How many jobs of a queue run at the same time. */
  readonly width: number;
  readonly job: (id: string) => Promise<void>;
}

export function createJobQueues({ width, job }: JobQueuesOptions): JobQueues {
  const queues = new Map<string, { running: number; readonly waiting: string[] }>();
  const known = new Set<string>();

  function next(name: string): void {
    const queue = queues.get(name);
    const id = queue && queue.running < width ? queue.waiting.shift() : undefined;
    if (!queue || id === undefined) {
      if (queue?.running === 0) queues.delete(name);
      return;
    }
    queue.running += 1;
    void job(id).finally(() => {
      known.delete(id);
      queue.running -= 1;
      next(name);
    });
  }

  return {
    do(name, id) {
      if (known.has(id)) return;
      known.add(id);
      const queue = queues.get(name) ?? { running: 0, waiting: [] };
      queues.set(name, queue);
      queue.waiting.push(id);
      next(name);
    },
    clear() {
      for (const { waiting } of queues.values()) for (const id of waiting.splice(0)) known.delete(id);
    },
  };
}
