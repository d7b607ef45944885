/** Runs one task at a time for each session. Waiting appends of a session are passed on together, for one commit. */
export interface SessionQueues<Request> {
  append(sessionId: string, request: Request): void;
  /** Runs `work` when all earlier tasks of the session are done. */
  alone<Result>(sessionId: string, work: () => Result | Promise<Result>): Promise<Result>;
  busy(sessionId: string): boolean;
  /** Resolves when every queue is empty. */
  idle(): Promise<void>;
}

type Task<Request> =
  | { readonly kind: "append"; readonly request: Request }
  | { readonly kind: "alone"; readonly run: () => Promise<void> };

/**
 * The largest number of appends in one commit. With a larger number, the first append would wait longer for the others.
 */
const BATCH = 256;

export function createSessionQueues<Request>(
  commit: (sessionId: string, requests: readonly Request[]) => Promise<void>,
): SessionQueues<Request> {
  const queues = new Map<string, Task<Request>[]>();
  let whenIdle: (() => void)[] = [];

  function enqueue(sessionId: string, task: Task<Request>): void {
    const tasks = queues.get(sessionId);
    if (tasks) {
      tasks.push(task);
      return;
    }
    const fresh = [task];
    queues.set(sessionId, fresh);
    void drain(sessionId, fresh);
  }

  async function drain(sessionId: string, tasks: Task<Request>[]): Promise<void> {
    while (tasks.length > 0) {
      const [first] = tasks;
      if (first?.kind === "alone") {
        await first.run();
        tasks.shift();
        continue;
      }
      const requests = leadingAppends(tasks);
      await commit(sessionId, requests);
      tasks.splice(0, requests.length);
    }
    queues.delete(sessionId);
    if (queues.size > 0) return;
    const waiting = whenIdle;
    whenIdle = [];
    for (const resolve of waiting) resolve();
  }

  return {
    append: (sessionId, request) => enqueue(sessionId, { kind: "append", request }),
    alone: (sessionId, work) =>
      new Promise((resolve, reject) => {
        const run = async (): Promise<void> => {
          try {
            resolve(await work());
          } catch (error) {
            reject(error);
          }
        };
        enqueue(sessionId, { kind: "alone", run });
      }),
    busy: (sessionId) => queues.has(sessionId),
    idle: () => (queues.size === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle.push(resolve))),
  };
}

function leadingAppends<Request>(tasks: readonly Task<Request>[]): readonly Request[] {
  const requests: Request[] = [];
  for (const task of tasks) {
    if (task.kind !== "append" || requests.length === BATCH) break;
    requests.push(task.request);
  }
  return requests;
}
