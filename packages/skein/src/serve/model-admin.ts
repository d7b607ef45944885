import type { ServerDeps } from "@skein/server";
import { checkModelSettings } from "../model-catalog.ts";
import { type OpenedToModels, checkAddedModel, checkModelKey } from "../model-rules.ts";
import { tryModel } from "../model-trial.ts";

/** Checks models and makes trial calls for the HTTP API. */
export function createModelAdmin(
  opened: OpenedToModels = { addresses: [], keyVariables: [] },
): NonNullable<ServerDeps["modelAdmin"]> {
  return {
    check(model) {
      checkModelSettings(model.name, model.settings);
      checkAddedModel(model, opened);
      checkModelKey(model.name, model.settings, model.key);
    },
    try: tryModel,
  };
}
