import { isDeadOwner } from "@skein/adapters/engines/owner";
import { type Store, type WorkerInfo, createWorkers } from "@skein/core";

/** A process in the list of workers of its store. */
export interface Registration {
  /** The other processes that serve the same store now. */
  readonly others: readonly string[];
  leave(): Promise<void>;
}

/**
 * Adds this process to the list of workers of a store that only one machine uses. No heartbeat is needed, because process
 * ids say which workers are alive. A process of another host is removed: the store was moved, or its container is gone.
 */
export async function registerWorker(store: Store, worker: WorkerInfo): Promise<Registration> {
  const workers = createWorkers(store.records);
  const [host] = worker.owner.split("/");
  const others: string[] = [];
  for (const other of await workers.all()) {
    if (other.owner === worker.owner) continue;
    if (other.owner.split("/")[0] === host && !isDeadOwner(other.owner)) others.push(other.owner);
    else await workers.leave(other);
  }
  await workers.beat(worker);
  return { others: [...new Set(others)], leave: () => workers.leave(worker).catch(() => undefined) };
}
