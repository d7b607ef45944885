import { type Store, type Vault, sealedRecords } from "@skein/core";
import { type Config, environmentKey, simulationChoice } from "./config.ts";
import { type ConfiguredModels, type OwnCatalog, createModelCatalog } from "./model-catalog.ts";
import type { OpenedToModels } from "./model-rules.ts";
import { type OpenModel, openModel } from "./open-model.ts";

/** The model catalog, which finds models by name, and the opened model Claude or its simulation. */
export interface OpenCatalog {
  readonly catalog: OwnCatalog;
  readonly claude: OpenModel;
  close(): Promise<void>;
}

/** Opens Claude or its simulation, and the catalog of all other models. */
export async function openCatalog({
  store,
  config,
  configured,
}: {
  readonly store: Store;
  readonly config: Config;
  readonly configured?: ConfiguredModels | undefined;
}): Promise<OpenCatalog> {
  const claude = await openModel({ ...config, ...simulationChoice(config) });
  const opened = config.openedToModels;
  return { catalog: catalogWith(claude, { store, configured, opened }), claude, close: claude.close };
}

/** Creates the model catalog for an open Claude model. */
export function catalogWith(
  claude: OpenModel,
  {
    store,
    configured,
    opened,
    vault,
    silenceMs,
  }: {
    readonly store: Store;
    /** Decrypts keys of models, if the store does not decrypt its records. */
    readonly vault?: Vault | undefined;
    readonly configured?: ConfiguredModels | undefined;
    readonly opened?: OpenedToModels | undefined;
    readonly silenceMs?: number | undefined;
  },
): OwnCatalog {
  return createModelCatalog({
    claude: claude.model,
    isGateway: !claude.simulated && claude.api.baseUrl !== undefined,
    records: sealedRecords(store.records, vault),
    configured,
    keyIn: environmentKey,
    opened,
    silenceMs,
  });
}
