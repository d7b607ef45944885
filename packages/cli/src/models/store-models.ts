import { type Store, createModels, sealedRecords, shownModel } from "@skein/core";
import type { ApiModel, LlmModel } from "@skein/protocol";
import type { Config } from "skein/config";
import { type ServeSettings, checkModelKey, checkModelSettings, loadCode, openCatalog, tryModel } from "skein/serve";
import type { ModelPlace } from "./model-place.ts";

/**
 * Creates the functions for the models of a store on this machine. A model may have any address, because the user can
 * write to the store.
 */
export function createStoreModels(
  opened: Store,
  { settings, config }: { readonly settings: ServeSettings; readonly config: Config },
): ModelPlace {
  const store = { ...opened, records: sealedRecords(opened.records, settings.secrets.vault) };
  const models = createModels({ records: store.records });

  const shown = async (model: LlmModel): Promise<ApiModel> =>
    shownModel(model, (await models.reached()).get(model.name));

  return {
    list: async () => Promise.all((await models.list()).map(shown)),
    async add({ name, settings: given, key, isDefault }) {
      checkModelSettings(name, given);
      checkModelKey(name, given, key);
      return shown(await models.add({ name, settings: given, key, isDefault }));
    },
    async *test(name) {
      const { models: configured } = await loadCode(settings.configFile);
      const { catalog, close } = await openCatalog({ store, config, configured });
      try {
        await catalog.refresh("default");
        yield* tryModel(name, catalog.named("default", name), new AbortController().signal);
      } finally {
        await close();
      }
    },
    async remove(name) {
      const found = (await models.list()).find((model) => model.name === name);
      if (!found) return undefined;
      const removed = await shown(found);
      await models.remove(found.id);
      return removed;
    },
  };
}
