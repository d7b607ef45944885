import { createAiSdkModel, isAiSdkModel } from "@skein/adapters/models/ai-sdk";
import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import { createOpenAiModel } from "@skein/adapters/models/openai";
import { ChatQuirks, createOpenAiCompatibleModel } from "@skein/adapters/models/openai-compatible";
import { createGuardedFetch } from "@skein/adapters/tools";
import {
  type Model,
  type ModelCatalog,
  type ReachedModel,
  type Records,
  createModels,
  createSecrets,
  parseInput,
} from "@skein/core";
import { KnownError, ModelSettings, givenPrice, isKnownError, providerOf } from "@skein/protocol";
import { z } from "zod";
import { awsKey, cloudModel } from "./cloud-models.ts";
import { failingModel } from "./failing-model.ts";
import { PROVIDERS, isClaudeName, settingsOf } from "./model-providers.ts";
import { type OpenedToModels, checkAddedModel, modelPlaces } from "./model-rules.ts";

/** A model object of the AI SDK, with what is known of the model. */
interface ModelObject extends Pick<ModelSettings, "price" | "abilities"> {
  readonly model: Parameters<typeof createAiSdkModel>[0]["model"];
}

/** Models by name: the settings to reach each, or a model object. */
export type ConfiguredModels = Readonly<Record<string, ModelSettings | ModelObject>>;

/** Models as a program gives them: settings, model objects of the AI SDK, or such an object with a price and abilities. */
export type GivenModels = Readonly<Record<string, z.input<typeof ModelSettings> | ModelObject | ModelObject["model"]>>;

/** Checks models that a program or a config file gives. */
export function configuredModels(given: GivenModels): ConfiguredModels {
  return Object.fromEntries(
    Object.entries(given).map(([name, one]) => {
      const shown = isAiSdkModel(one) ? { model: one } : one;
      if (!("model" in shown)) {
        const { models } = parseInput(z.object({ models: z.record(ModelName, ModelSettings) }), {
          models: { [name]: one },
        });
        const settings = models[name] as ModelSettings;
        checkModelSettings(name, settings);
        return [name, settings];
      }
      const { model, ...known } = shown;
      if (!isAiSdkModel(model))
        throw new KnownError("invalid", `models: "${name}" is not a model object of the AI SDK (LanguageModelV4).`);
      return [parseInput(ModelName, name), { ...parseInput(ObjectSettings, known), model }];
    }),
  );
}

const ModelName = z.string().min(1).max(100);
const ObjectSettings = ModelSettings.pick({ price: true, abilities: true });

export interface CatalogDeps {
  /** The model for names without a provider, and for names that only its server can know. */
  readonly claude: Model;
  /** Whether `claude` is the operator's gateway, which may know any name. */
  readonly isGateway: boolean;
  /**
   * Where models that were added are kept. A secret that cannot be decrypted is an error: it must not be sent as a key.
   */
  readonly records: Records;
  /** Models of `skein.config.ts` or of a program. They take precedence over added ones. */
  readonly configured?: ConfiguredModels | undefined;
  /** The value of an environment variable with a key. */
  readonly keyIn: (variable: string) => string | undefined;
  /** What models that requests added may use. */
  readonly opened?: OpenedToModels | undefined;
  readonly silenceMs?: number | undefined;
  readonly now?: () => number;
}

/** How long the known models of a tenant are cached. */
const FRESH_MS = 2000;

/** A model of the store, with the text of its key. */
interface AddedModel extends ReachedModel {
  readonly tenant: string;
  /** The text of its key in the store, or the reason why it cannot be read. */
  readonly key: { readonly text: string; readonly problem?: undefined } | { readonly problem: string } | undefined;
}

/** The models of a process: those of its configuration, those that were added to its store, and known providers by name. */
export function createModelCatalog(deps: CatalogDeps): ModelCatalog {
  const { claude, records, configured = {}, now = Date.now } = deps;
  const secrets = createSecrets(records);
  const added = new Map<string, { readonly at: number; readonly models: ReadonlyMap<string, AddedModel> }>();
  const reading = new Map<string, Promise<void>>();
  const made = new Map<string, Model>();
  /** The model that was last asked for by each name, and what it was made of. */
  const asked = new Map<string, { settings: ModelSettings; own: AddedModel | undefined; model: Model }>();
  const objects = new Map<string, Model>();

  /** Models have no state: the model for the same settings is reused. */
  function modelOf(name: string, settings: ModelSettings, own?: AddedModel): Model {
    // The same objects until the models are read again: a step asks for its model several times.
    const last = asked.get(name);
    if (last?.settings === settings && last.own === own) return last.model;
    const key = JSON.stringify([name, settings, own]);
    const known = made.get(key) ?? openModel(name, settings, { ...deps, added: own });
    if (made.size > MOST_MADE) made.clear();
    if (asked.size > MOST_MADE) asked.clear();
    made.set(key, known);
    asked.set(name, { settings, own, model: known });
    return known;
  }

  function objectModel(name: string, { model, price, abilities = {} }: ModelObject): Model {
    const known =
      objects.get(name) ??
      createAiSdkModel({ model, price: givenPrice(name, price), ...givenOptions(deps, abilities) });
    objects.set(name, known);
    return known;
  }

  async function keyOf(tenant: string, reference: string | undefined): Promise<AddedModel["key"]> {
    if (reference === undefined) return undefined;
    try {
      return { text: await secrets.get(tenant, reference) };
    } catch (error) {
      if (!isKnownError(error)) throw error;
      return { problem: error.message };
    }
  }

  async function read(tenant: string): Promise<void> {
    const models = new Map<string, AddedModel>();
    for (const [name, reached] of await createModels({ records, tenant }).reached())
      models.set(name, { ...reached, tenant, key: await keyOf(tenant, reached.keySecret) });
    added.set(tenant, { at: now(), models });
  }

  return {
    async refresh(tenant, { isUrgent } = { isUrgent: false }) {
      const known = added.get(tenant);
      if (known && !isUrgent && Math.abs(now() - known.at) < FRESH_MS) return;
      // Many sessions that begin at once share one reading.
      const underWay = (!isUrgent && reading.get(tenant)) || read(tenant).finally(() => reading.delete(tenant));
      reading.set(tenant, underWay);
      await underWay;
    },
    named(tenant, name) {
      const own = added.get(tenant)?.models.get(name);
      const settings = Object.hasOwn(configured, name) ? configured[name] : undefined;
      if (settings && "model" in settings) return objectModel(name, settings);
      if (settings) return modelOf(name, settings);
      if (own) return modelOf(name, own.settings, own);
      if (isClaudeName(name) || deps.isGateway) return claude;
      if (Object.hasOwn(PROVIDERS, providerOf(name) ?? "")) return modelOf(name, NO_SETTINGS);
      return failingModel(
        `There is no model "${name}". Add it with "skein models add ${name} --url URL", or in skein.config.ts.`,
      );
    },
  };
}

const MOST_MADE = 1000;
const NO_SETTINGS: ModelSettings = {};

/** Checks the settings of a model before they are stored. */
export function checkModelSettings(name: string, settings: ModelSettings): void {
  const { adapter, url, quirks, region, project } = settingsOf(name, settings);
  const place = `Model "${name}"`;
  if (adapter === undefined)
    throw new KnownError(
      "invalid",
      `${place}: Expected provider/name with one of the providers ${["anthropic", ...Object.keys(PROVIDERS)].join(", ")}, or an adapter.`,
    );
  if (adapter === "openai-compatible" && url === undefined)
    throw new KnownError(
      "invalid",
      `${place}: Expected the address of its server, for example http://127.0.0.1:11434/v1.`,
    );
  if (
    (region !== undefined && adapter !== "bedrock" && adapter !== "vertex") ||
    (project !== undefined && adapter !== "vertex")
  )
    throw new KnownError(
      "invalid",
      `${place}: A region is for the adapters bedrock and vertex, a project for vertex. The adapter of this model is ${adapter}.`,
    );
  if (quirks) parseInput(ChatQuirks.partial(), quirks);
}

interface OpenDeps extends CatalogDeps {
  /** The record of the model, if it was added to the store. */
  readonly added: AddedModel | undefined;
}

const NOTHING_OPENED: OpenedToModels = { addresses: [], keyVariables: [] };

function openModel(name: string, given: ModelSettings, deps: OpenDeps): Model {
  const { added, keyIn, opened = NOTHING_OPENED } = deps;
  const { adapter, url, key_env, abilities = {}, quirks = {}, price, model_name } = settingsOf(name, given);
  const modelName = model_name ?? name.slice(name.indexOf("/") + 1);
  if (added?.isGuarded)
    try {
      // Checked again: an address that was allowed when the model was added may be forbidden by now.
      checkAddedModel({ tenant: added.tenant, name, settings: given, hasKey: added.key !== undefined }, opened);
    } catch (error) {
      return failingModel(`The model "${name}" cannot be used. ${(error as Error).message}`);
    }
  if (added?.key?.problem !== undefined)
    return failingModel(`The key of the model "${name}" cannot be read. ${added.key.problem}`);
  const apiKey =
    added?.key?.text ??
    (key_env === undefined ? undefined : keyIn(key_env)) ??
    (adapter === "bedrock" && given.key_env === undefined ? awsKey(keyIn) : undefined);
  if (key_env !== undefined && (apiKey === undefined || apiKey === ""))
    return failingModel(`The model "${name}" needs a key in the environment variable ${key_env}, and it is not set.`);
  const shared = {
    modelName,
    price: givenPrice(name, price),
    ...givenOptions(deps, abilities),
    ...(added?.isGuarded && { fetch: createGuardedFetch(modelPlaces(added.tenant, opened)) }),
  };
  switch (adapter) {
    case "anthropic":
      return createAnthropicModel({ ...shared, apiKey: apiKey ?? "none", ...(url !== undefined && { baseUrl: url }) });
    case "openai":
      return createOpenAiModel({ ...shared, apiKey: apiKey ?? "none", url });
    case "openai-compatible":
      if (url === undefined)
        return failingModel(
          `The model "${name}" has no address. Add it: skein models add ${name} --url URL, or "models" in skein.config.ts or createAgent.`,
        );
      return createOpenAiCompatibleModel({
        ...shared,
        apiKey,
        url,
        quirks: parseInput(ChatQuirks.partial(), quirks) as Partial<ChatQuirks>,
      });
    case "bedrock":
    case "vertex":
      return cloudModel(name, { ...given, adapter }, { ...shared, key: apiKey ?? "", keyIn });
    case undefined:
      return failingModel(`The model "${name}" has no adapter. Add it again with --adapter.`);
  }
}

function givenOptions(
  { silenceMs }: Pick<CatalogDeps, "silenceMs">,
  abilities: NonNullable<ModelSettings["abilities"]>,
) {
  return {
    // A field that is not given must not replace the adapter's own value.
    abilities: Object.fromEntries(Object.entries(abilities).filter(([, value]) => value !== undefined)),
    ...(silenceMs !== undefined && { silenceMs }),
  };
}
