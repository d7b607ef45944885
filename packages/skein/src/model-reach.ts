import { createGuardedFetch } from "@skein/adapters/tools";
import type { ReachedModel } from "@skein/core";
import { type ModelPrice, type ModelSettings, givenPrice } from "@skein/protocol";
import { awsKey } from "./cloud-models.ts";
import { settingsOf } from "./model-providers.ts";
import { type OpenedToModels, checkAddedModel, modelPlaces } from "./model-rules.ts";

/** A model of the store, with the text of its API key. */
export interface AddedModel extends ReachedModel {
  readonly tenant: string;
  /** The key, or the reason why the key cannot be read. */
  readonly key: { readonly text: string; readonly problem?: undefined } | { readonly problem: string } | undefined;
}

export interface ReachDeps {
  /** The record of the model, if the store has it. */
  readonly added: AddedModel | undefined;
  /** Returns the value of an environment variable, such as an API key. */
  readonly keyIn: (variable: string) => string | undefined;
  /** Additional permissions for models that HTTP requests add. */
  readonly opened?: OpenedToModels | undefined;
}

/** How a model is called. `settings` include the settings of the provider. */
export interface ModelReach {
  readonly settings: ModelSettings;
  /** The provider's name for the model. */
  readonly modelName: string;
  /** Undefined if the model needs no key. */
  readonly apiKey: string | undefined;
  readonly price: ModelPrice | undefined;
  /** Connects only to addresses that the model may have. Undefined if the model may have any address. */
  readonly fetch: typeof globalThis.fetch | undefined;
}

const NOTHING_OPENED: OpenedToModels = { addresses: [], keyVariables: [] };

/** Returns how a model is called, or why it cannot be called. */
export function reachOf(
  name: string,
  given: ModelSettings,
  deps: ReachDeps,
): ModelReach | { readonly problem: string } {
  const { added, keyIn, opened = NOTHING_OPENED } = deps;
  const settings = settingsOf(name, given);
  const { adapter, key_env, price, model_name } = settings;
  if (added?.isGuarded)
    try {
      // The model is checked again, because the operator may have forbidden its address after it was added.
      checkAddedModel({ tenant: added.tenant, name, settings: given, hasKey: added.key !== undefined }, opened);
    } catch (error) {
      return { problem: `The model "${name}" cannot be used. ${(error as Error).message}` };
    }
  if (added?.key?.problem !== undefined)
    return { problem: `The key of the model "${name}" cannot be read. ${added.key.problem}` };
  const apiKey =
    added?.key?.text ??
    (key_env === undefined ? undefined : keyIn(key_env)) ??
    (adapter === "bedrock" && given.key_env === undefined ? awsKey(keyIn) : undefined);
  if (key_env !== undefined && (apiKey === undefined || apiKey === ""))
    return { problem: `The model "${name}" needs a key in the environment variable ${key_env}, and it is not set.` };
  return {
    settings,
    modelName: model_name ?? name.slice(name.indexOf("/") + 1),
    apiKey,
    price: givenPrice(name, price),
    fetch: added?.isGuarded ? createGuardedFetch(modelPlaces(added.tenant, opened)) : undefined,
  };
}
