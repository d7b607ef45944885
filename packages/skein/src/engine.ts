import { createLocalEngine } from "@skein/adapters/engines/local";
import { isDeadOwner, thisOwner } from "@skein/adapters/engines/owner";
import type { EngineFactory } from "@skein/core";
import { loadPart } from "./optional-parts.ts";
import type { EngineSettings, RestateSettings } from "./serve/engine-settings.ts";

/** Returns the given engine. If none is given, returns the local engine. */
export function chooseEngine(given?: EngineFactory): EngineFactory {
  return given ?? localEngine;
}

/** An engine that is ready to be started. It decides which process runs a session. */
export interface OpenedEngine {
  readonly factory: EngineFactory;
  /** Rejects if a service of the engine does not answer. Undefined if the engine needs no service. */
  readonly check: (() => Promise<void>) | undefined;
  /** Closes connections and ports. Call it after the engine was stopped. */
  close(): Promise<void>;
}

export async function openEngine({ role, restate }: EngineSettings): Promise<OpenedEngine> {
  if (restate) return openRestate(restate, role !== "api");
  return { factory: role === "api" ? noEngine : localEngine, check: undefined, close: async () => {} };
}

/** Runs sessions in this process. Other processes on the same store run other sessions. */
const localEngine: EngineFactory = ({ concurrency, leaseMs, ...parts }) =>
  createLocalEngine({
    ...parts,
    owner: thisOwner(),
    isDead: isDeadOwner,
    ...(concurrency !== undefined && { concurrency }),
    ...(leaseMs !== undefined && { leaseMs }),
  });

/** An engine that runs no sessions. The store notifies the workers. */
const noEngine: EngineFactory = () => ({
  start() {},
  reserve: () => undefined,
  wake() {},
  look() {},
  queue: () => ({ places: 0, taken: 0, waiting: 0, tenants: 0 }),
  async stop() {},
});

async function openRestate(settings: RestateSettings, drives: boolean): Promise<OpenedEngine> {
  const { ingressUrls, endpoint: place, service, identityKeys, token } = settings;
  const { createIngress, createRestateEngine, listenForRestate } = await loadPart.restate();
  const ingress = createIngress({ urls: ingressUrls, service, token });
  const endpoint = drives ? await listenForRestate({ ...place, service, identityKeys }) : undefined;
  return {
    factory: ({ concurrency, leaseMs, ...parts }) =>
      createRestateEngine({
        ...parts,
        owner: thisOwner(),
        ingress,
        endpoint,
        ...(concurrency !== undefined && { concurrency }),
        ...(leaseMs !== undefined && { leaseMs }),
      }),
    check: () => ingress.check(),
    async close() {
      await endpoint?.close();
    },
  };
}
