import { isDeadOwner } from "@skein/adapters/engines/owner";
import { type Store, type WorkerInfo, createWorkers } from "@skein/core";

/** The entry of this process in the store's list of workers. */
export interface Registration {
  /** The other processes that serve the same store now. */
  readonly others: readonly string[];
  leave(): Promise<void>;
}

/**
 * Adds this process to the list of workers of a store on one machine. Process ids show which workers are alive, so no
 * heartbeat is needed. Removes the entries of processes of another host, because the store was moved or their container
 * is gone.
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
