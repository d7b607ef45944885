/** Work in lanes: a few jobs of a lane run at once, the others wait their turn. A slow lane holds up no other. */
export interface Lanes {
  /** Does a job, now or in its turn. One that waits or runs already, by its id, is not done again. */
  do(lane: string, id: string): void;
  /** Forgets what waits. */
  clear(): void;
}

export interface LanesOptions {
  /** How many jobs of a lane run at once. */
  readonly width: number;
  readonly job: (id: string) => Promise<void>;
}

export function createLanes({ width, job }: LanesOptions): Lanes {
  const lanes = new Map<string, { running: number; readonly waiting: string[] }>();
  const known = new Set<string>();

  function next(name: string): void {
    const lane = lanes.get(name);
    const id = lane && lane.running < width ? lane.waiting.shift() : undefined;
    if (!lane || id === undefined) {
      if (lane?.running === 0) lanes.delete(name);
      return;
    }
    lane.running += 1;
    void job(id).finally(() => {
      known.delete(id);
      lane.running -= 1;
      next(name);
    });
  }

  return {
    do(name, id) {
      if (known.has(id)) return;
      known.add(id);
      const lane = lanes.get(name) ?? { running: 0, waiting: [] };
      lanes.set(name, lane);
      lane.waiting.push(id);
      next(name);
    },
    clear() {
      for (const { waiting } of lanes.values()) for (const id of waiting.splice(0)) known.delete(id);
    },
  };
}
