import type { ModelCatalog, Store } from "@skein/core";
import type { ModelSettings } from "@skein/protocol";
import { type Config, environmentKey, simulationChoice } from "./config.ts";
import { createModelCatalog } from "./model-catalog.ts";
import { type OpenModel, openModel } from "./open-model.ts";

/** The models of a process, and Claude among them. */
export interface OpenCatalog {
  readonly catalog: ModelCatalog;
  readonly claude: OpenModel;
  close(): Promise<void>;
}

/** Opens Claude or its simulation, and every other model by its name. */
export async function openCatalog({
  store,
  config,
  configured,
}: {
  readonly store: Store;
  readonly config: Config;
  readonly configured?: Readonly<Record<string, ModelSettings>> | undefined;
}): Promise<OpenCatalog> {
  const claude = await openModel({ ...config, ...simulationChoice(config) });
  return { catalog: catalogWith(claude, { store, configured }), claude, close: claude.close };
}

/** The models of a process whose Claude is open already. */
export function catalogWith(
  claude: OpenModel,
  {
    store,
    configured,
    silenceMs,
  }: {
    readonly store: Store;
    readonly configured?: Readonly<Record<string, ModelSettings>> | undefined;
    readonly silenceMs?: number | undefined;
  },
): ModelCatalog {
  return createModelCatalog({
    claude: claude.model,
    isGateway: !claude.simulated && claude.api.baseUrl !== undefined,
    records: store.records,
    configured,
    keyIn: environmentKey,
    silenceMs,
  });
}
