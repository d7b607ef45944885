import { createAiSdkModel, isAiSdkModel } from "@skein/adapters/models/ai-sdk";
import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import type { BrokeredModel } from "@skein/adapters/sandboxes/model-broker";
import { createOpenAiModel } from "@skein/adapters/models/openai";
import { ChatQuirks, createOpenAiCompatibleModel } from "@skein/adapters/models/openai-compatible";
import {
  type Model,
  type ModelAbilities,
  type ModelCatalog,
  type Records,
  createModels,
  createSecrets,
  parseInput,
} from "@skein/core";
import { KnownError, ModelSettings, givenPrice, isKnownError, providerOf } from "@skein/protocol";
import { z } from "zod";
import { claudeCodeModel, notForClaudeCode } from "./claude-code-model.ts";
import { cloudModel } from "./cloud-models.ts";
import { failingModel } from "./failing-model.ts";
import { PROVIDERS, isClaudeName, settingsOf } from "./model-providers.ts";
import { type AddedModel, type ReachDeps, reachOf } from "./model-reach.ts";
import type { OpenedToModels } from "./model-rules.ts";

/** A model object of the AI SDK, with its price and abilities. */
interface ModelObject extends Pick<ModelSettings, "price" | "abilities"> {
  readonly model: Parameters<typeof createAiSdkModel>[0]["model"];
}

/** Models by name, as settings or as model objects. */
export type ConfiguredModels = Readonly<Record<string, ModelSettings | ModelObject>>;

/**
 * Models by name in the options of a program: settings, a model object of the AI SDK, or a model object with a price
 * and abilities.
 */
export type GivenModels = Readonly<Record<string, z.input<typeof ModelSettings> | ModelObject | ModelObject["model"]>>;

/** Checks the models of a program or a config file. */
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
  /** The model for names without a provider or with `anthropic/`. If `isGateway` is true, also for unknown names. */
  readonly claude: Model;
  /** True if `claude` is the operator's gateway, which may know all names. */
  readonly isGateway: boolean;
  /**
   * The storage for models that were added with HTTP requests or `skein models add`. Reading a secret that cannot be
   * decrypted must throw, because encrypted text must not be sent as a key.
   */
  readonly records: Records;
  /** Models of `skein.config.ts` or of a program. They take precedence over added models. */
  readonly configured?: ConfiguredModels | undefined;
  /** Returns the value of an environment variable, such as an API key. */
  readonly keyIn: (variable: string) => string | undefined;
  /** Additional permissions for models that HTTP requests add. */
  readonly opened?: OpenedToModels | undefined;
  readonly silenceMs?: number | undefined;
  readonly now?: () => number;
}

/** How long the added models of a tenant are cached. */
const FRESH_MS = 2000;

/** The model catalog of a process, including models for Claude Code. */
export interface OwnCatalog extends ModelCatalog {
  /**
   * Returns how Claude Code reaches this model. Returns undefined if the server's default address for Claude has the
   * model. Throws if Claude Code cannot use the model.
   */
  forClaudeCode(tenant: string, name: string): Promise<BrokeredModel | undefined>;
}

/**
 * Creates the model catalog of a process. It has configured models, models in the store, and models of known providers.
 */
export function createModelCatalog(deps: CatalogDeps): OwnCatalog {
  const { claude, records, configured = {}, now = Date.now } = deps;
  const secrets = createSecrets(records);
  const added = new Map<string, { readonly at: number; readonly models: ReadonlyMap<string, AddedModel> }>();
  const reading = new Map<string, Promise<void>>();
  const made = new Map<string, Model>();
  /** The last requested model for each name, and its settings. */
  const asked = new Map<string, { settings: ModelSettings; own: AddedModel | undefined; model: Model }>();
  const objects = new Map<string, Model>();

  /** Returns the same model for the same settings, because models have no state. */
  function modelOf(name: string, settings: ModelSettings, own?: AddedModel): Model {
    // This is a fast path, because a step asks for its model several times. The settings stay the same objects until
    // the models are read again.
    const last = asked.get(name);
    if (last?.settings === settings && last.own === own) return last.model;
    const key = JSON.stringify([name, settings, own]);
    const known = made.get(key) ?? {
      ...(isCorrection(name, settings, own)
        ? { ...claude, price: givenPrice(name, settings.price) }
        : openModel(name, settings, { ...deps, added: own })),
      contextWindow: settings.context_window,
    };
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

  async function refresh(tenant: string, { isUrgent } = { isUrgent: false }): Promise<void> {
    const known = added.get(tenant);
    if (known && !isUrgent && Math.abs(now() - known.at) < FRESH_MS) return;
    // Sessions that begin at the same time share one read of the store.
    const underWay = (!isUrgent && reading.get(tenant)) || read(tenant).finally(() => reading.delete(tenant));
    reading.set(tenant, underWay);
    await underWay;
  }

  /** Finds settings, a model object or Claude for this name. */
  function find(tenant: string, name: string): FoundModel {
    const settings = Object.hasOwn(configured, name) ? configured[name] : undefined;
    if (settings && "model" in settings) return { kind: "object", object: settings };
    if (settings) return { kind: "settings", settings, own: undefined };
    const own = added.get(tenant)?.models.get(name);
    if (own) return { kind: "settings", settings: own.settings, own };
    if (isClaudeName(name) || deps.isGateway) return { kind: "claude" };
    if (Object.hasOwn(PROVIDERS, providerOf(name) ?? ""))
      return { kind: "settings", settings: NO_SETTINGS, own: undefined };
    return {
      kind: "unknown",
      problem: `There is no model "${name}". Add it with "skein models add ${name} --url URL", or in skein.config.ts.`,
    };
  }

  return {
    refresh,
    named(tenant, name) {
      const found = find(tenant, name);
      switch (found.kind) {
        case "object":
          return objectModel(name, found.object);
        case "settings":
          return modelOf(name, found.settings, found.own);
        case "claude":
          return claude;
        case "unknown":
          return failingModel(found.problem);
      }
    },
    async forClaudeCode(tenant, name) {
      await refresh(tenant);
      const found = find(tenant, name);
      switch (found.kind) {
        case "object":
          throw notForClaudeCode(name, "ai-sdk");
        case "settings":
          if (isCorrection(name, found.settings, found.own)) return undefined;
          return claudeCodeModel(name, found.settings, { ...deps, added: found.own });
        case "claude":
          return undefined;
        case "unknown":
          throw new KnownError("invalid", `model: ${found.problem}`);
      }
    },
  };
}

/**
 * Tells whether settings only correct the price or the context window of Claude. Such settings do not change how Claude
 * is called. A tenant cannot correct the price of calls that are made with the operator's API key.
 */
function isCorrection(name: string, settings: ModelSettings, own: AddedModel | undefined): boolean {
  if (!isClaudeName(name) || own?.key !== undefined || (own?.isGuarded && own.tenant !== "default")) return false;
  return Object.keys(settings).every((field) => field === "price" || field === "context_window");
}

type FoundModel =
  | { readonly kind: "object"; readonly object: ModelObject }
  | { readonly kind: "settings"; readonly settings: ModelSettings; readonly own: AddedModel | undefined }
  | { readonly kind: "claude" }
  | { readonly kind: "unknown"; readonly problem: string };

const MOST_MADE = 1000;
const NO_SETTINGS: ModelSettings = {};

/** Checks the settings of a model before they are stored. */
export function checkModelSettings(name: string, settings: ModelSettings): void {
  const { adapter, url, quirks, region, project, key_header } = settingsOf(name, settings);
  const place = `Model "${name}"`;
  // A server with an address of its own rarely speaks Claude's API. So a name without a provider is probably a mistake.
  const isGuess = url !== undefined && settings.adapter === undefined && !/\/|^claude/.test(name);
  if (adapter === undefined || isGuess)
    throw new KnownError(
      "invalid",
      `${place}: Unknown provider. Expected provider/name with one of the providers ${["anthropic", ...Object.keys(PROVIDERS)].join(", ")}, or the setting "adapter".`,
    );
  if (adapter === "openai-compatible" && url === undefined)
    throw new KnownError(
      "invalid",
      `${place}: Expected the address of the model's server, for example http://127.0.0.1:11434/v1.`,
    );
  if (
    (region !== undefined && adapter !== "bedrock" && adapter !== "vertex") ||
    (project !== undefined && adapter !== "vertex")
  )
    throw new KnownError(
      "invalid",
      `${place}: A region is for the adapters bedrock and vertex, a project for vertex. The adapter of this model is ${adapter}.`,
    );
  if (key_header !== undefined && adapter !== "anthropic")
    throw new KnownError(
      "invalid",
      `${place}: A key header is for the adapter anthropic. The adapter of this model is ${adapter}.`,
    );
  if (quirks) parseInput(ChatQuirks.partial(), quirks);
}

function openModel(name: string, given: ModelSettings, deps: CatalogDeps & Pick<ReachDeps, "added">): Model {
  const reach = reachOf(name, given, deps);
  if ("problem" in reach) return failingModel(reach.problem);
  const { settings, modelName, apiKey, price, fetch } = reach;
  const { adapter, url, abilities = {}, quirks = {} } = settings;
  const shared = { modelName, price, ...givenOptions(deps, abilities), ...(fetch && { fetch }) };
  switch (adapter) {
    case "anthropic":
      return createAnthropicModel({
        ...shared,
        apiKey: apiKey ?? "none",
        keyHeader: settings.key_header,
        ...(url !== undefined && { baseUrl: url }),
      });
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
      return cloudModel(name, { ...given, adapter }, { ...shared, key: apiKey ?? "", keyIn: deps.keyIn });
    case undefined:
      return failingModel(`The model "${name}" has no adapter. Add it again with --adapter.`);
  }
}

/** Leaves out missing fields, because `undefined` would replace the adapter's value. */
function abilitiesIn({ parallel_tools, ...others }: NonNullable<ModelSettings["abilities"]>): Partial<ModelAbilities> {
  const given = { ...others, parallelTools: parallel_tools };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function givenOptions(
  { silenceMs }: Pick<CatalogDeps, "silenceMs">,
  abilities: NonNullable<ModelSettings["abilities"]>,
) {
  return {
    abilities: abilitiesIn(abilities),
    ...(silenceMs !== undefined && { silenceMs }),
  };
}
