import { createLocalEngine } from "@skein/adapters/engines/local";
import { isDeadOwner, thisOwner } from "@skein/adapters/engines/owner";
import type { EngineFactory } from "@skein/core";

/** The engine of a process: the one that it was given, otherwise the local one. No other file names an engine. */
export function chooseEngine(given?: EngineFactory): EngineFactory {
  return given ?? localEngine;
}

/** Drives sessions in this process. Other processes on the same store do the same, each with its own leases. */
const localEngine: EngineFactory = ({ concurrency, leaseMs, ...parts }) =>
  createLocalEngine({
    ...parts,
    owner: thisOwner(),
    isDead: isDeadOwner,
    ...(concurrency !== undefined && { concurrency }),
    ...(leaseMs !== undefined && { leaseMs }),
  });
