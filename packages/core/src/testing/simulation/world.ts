import { type Ids, createIds } from "@skein/protocol";
import { type Random, createRandom } from "./random.ts";

/** When the clock of every world begins. */
const EPOCH = Date.UTC(2026, 10, 1);

/** A worker, client or reader. A killed process gets no answers any more. */
export interface Process {
  readonly name: string;
  readonly alive: boolean;
  /**
   * Waits until the scheduler lets this process continue. If the process is killed during the wait, nothing after the
   * wait runs.
   */
  turn(what: string, delayMs?: number): Promise<void>;
  kill(why: string): void;
  /** Stops the process for a time. The clock continues, and every turn of the process waits until the time is over. */
  freeze(ms: number): void;
}

interface ProcessOptions {
  /** Called before every turn of the process. It may kill or freeze the process. */
  readonly onTurn?: (process: Process) => void;
  readonly onKilled?: () => void;
}

/** A deterministic world: one seed decides every id, every delay and who continues next. */
export interface World {
  readonly seed: number;
  readonly random: Random;
  readonly ids: Ids;
  now(): number;
  process(name: string, options?: ProcessOptions): Process;
  /** Waits without a process, for example for a request in transit. */
  turn(what: string, delayMs?: number): Promise<void>;
  /** Adds a line to the hash, and to the trace if `keepTrace` is set. */
  note(line: string): void;
  /** Returns a short name for an id. The names are numbered in the order of their first use. */
  alias(id: string): string;
  /** Runs turns one after the other, until `done` returns true or no task is left. */
  run(done: () => boolean): Promise<void>;
  readonly turns: number;
  /** A hash of everything that happened; equal for equal seeds. */
  hash(): string;
  readonly trace: readonly string[];
}

interface Task {
  readonly at: number;
  readonly what: string;
  readonly owner: Inhabitant | null;
  readonly resolve: () => void;
}

interface Inhabitant extends Process {
  readonly options: ProcessOptions;
  alive: boolean;
  frozenUntil: number;
}

export function createWorld({ seed, keepTrace = false }: { seed: number; keepTrace?: boolean }): World {
  const random = createRandom(seed);
  let time = EPOCH;
  const now = (): number => time;
  const ids = createIds({ now, random: (bytes) => random.fill(bytes) });
  let tasks: Task[] = [];
  const trace: string[] = [];
  const aliases = new Map<string, string>();
  let turns = 0;
  let hash = 0x811c_9dc5;

  function note(line: string): void {
    for (let i = 0; i < line.length; i++) hash = Math.imul(hash ^ line.charCodeAt(i), 0x0100_0193);
    if (keepTrace) trace.push(`${String(time - EPOCH).padStart(7)} ms  ${line}`);
  }

  const wait = (owner: Inhabitant | null, what: string, delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      tasks.push({ at: time + delayMs, what, owner, resolve });
    });

  function process(name: string, options: ProcessOptions = {}): Process {
    const inhabitant: Inhabitant = {
      name,
      options,
      alive: true,
      frozenUntil: 0,
      turn: (what, delayMs = 0) => wait(inhabitant, what, delayMs),
      kill(why) {
        if (!inhabitant.alive) return;
        inhabitant.alive = false;
        note(`${name} killed: ${why}`);
        options.onKilled?.();
      },
      freeze(ms) {
        inhabitant.frozenUntil = Math.max(inhabitant.frozenUntil, time + ms);
        note(`${name} frozen for ${ms} ms`);
      },
    };
    return inhabitant;
  }

  const readyAt = ({ at, owner }: Task): number => Math.max(at, owner?.frozenUntil ?? 0);

  /** Returns a ready task, chosen by the seed. If no task is ready, advances the clock to the next task. */
  function next(): Task | undefined {
    tasks = tasks.filter(({ owner }) => owner === null || owner.alive);
    let first = Infinity;
    for (const task of tasks) first = Math.min(first, readyAt(task));
    if (first === Infinity) return undefined;
    time = Math.max(time, first);
    let ready = 0;
    for (const task of tasks) if (readyAt(task) <= time) ready += 1;
    let chosen = random.int(ready);
    const place = tasks.findIndex((task) => readyAt(task) <= time && chosen-- === 0);
    return tasks.splice(place, 1)[0];
  }

  function take(task: Task): void {
    const { owner } = task;
    if (owner) {
      owner.options.onTurn?.(owner);
      if (!owner.alive) return;
      if (owner.frozenUntil > time) {
        tasks.push(task);
        return;
      }
    }
    turns += 1;
    note(task.what);
    task.resolve();
  }

  return {
    seed,
    random,
    ids,
    now,
    process,
    turn: (what, delayMs = 0) => wait(null, what, delayMs),
    note,
    alias(id) {
      const known = aliases.get(id) ?? `#${aliases.size + 1}`;
      aliases.set(id, known);
      return known;
    },
    async run(done) {
      for (;;) {
        await settled();
        if (done()) return;
        const task = next();
        if (!task) return;
        take(task);
      }
    },
    get turns() {
      return turns;
    },
    hash: () => (hash >>> 0).toString(16).padStart(8, "0"),
    trace,
  };
}

/** Waits until the queue of microtasks is empty, so that only turns are left. Takes no simulated time. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
