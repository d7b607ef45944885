import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import { createOpenAiModel } from "@skein/adapters/models/openai";
import { ChatQuirks, createOpenAiCompatibleModel } from "@skein/adapters/models/openai-compatible";
import { type Model, type ModelCatalog, ModelFailure, type Records, createModels, parseInput } from "@skein/core";
import { KnownError, type ModelSettings, givenPrice } from "@skein/protocol";
import { PROVIDERS } from "./model-providers.ts";

export interface CatalogDeps {
  /** The model of bare names, and of names that only its server can know. */
  readonly claude: Model;
  /** Whether `claude` is a gateway of the operator, which may know any name. */
  readonly isGateway: boolean;
  /** Where models that were added are kept. */
  readonly records: Records;
  /** Models of `skein.config.ts`. They stand before those that were added. */
  readonly configured?: Readonly<Record<string, ModelSettings>> | undefined;
  /** The value of an environment variable with a key. */
  readonly keyIn: (variable: string) => string | undefined;
  readonly silenceMs?: number | undefined;
  readonly now?: () => number;
}

/** How long what is known of the models of a tenant is taken for true. */
const FRESH_MS = 2000;

/** The models of a process: those of its configuration, those that were added to its store, and known providers by name. */
export function createModelCatalog(deps: CatalogDeps): ModelCatalog {
  const { claude, records, configured = {}, now = Date.now } = deps;
  const added = new Map<string, { readonly at: number; readonly models: ReadonlyMap<string, ModelSettings> }>();
  const made = new Map<string, Model>();

  /** Models keep no state: one that was made for the same settings is the same model. */
  function modelOf(name: string, settings: ModelSettings): Model {
    const key = JSON.stringify([name, settings]);
    const known = made.get(key) ?? openModel(name, settings, deps);
    if (made.size > MOST_MADE) made.clear();
    made.set(key, known);
    return known;
  }

  return {
    async refresh(tenant) {
      const known = added.get(tenant);
      if (known && Math.abs(now() - known.at) < FRESH_MS) return;
      const models = new Map(await createModels({ records, tenant }).settings());
      added.set(tenant, { at: now(), models });
    },
    named(tenant, name) {
      const settings = configured[name] ?? added.get(tenant)?.models.get(name);
      if (settings) return modelOf(name, settings);
      if (isClaudeName(name) || deps.isGateway) return claude;
      if (Object.hasOwn(PROVIDERS, providerOf(name) ?? "")) return modelOf(name, {});
      return failingModel(
        `There is no model "${name}". Add it with "skein models add ${name} --url URL", or in skein.config.ts.`,
      );
    },
  };
}

const MOST_MADE = 1000;

/** Whether a name means Claude: one without a provider, or with Anthropic as its provider. */
export function isClaudeName(name: string): boolean {
  const provider = providerOf(name);
  return provider === undefined || provider === "anthropic";
}

/** What stands before the name of a model: `openai` in `openai/gpt-6`. Undefined for Claude's own names. */
function providerOf(name: string): string | undefined {
  const at = name.indexOf("/");
  // Names of Bedrock's profiles have a slash and no provider of ours.
  return at <= 0 || name.startsWith("arn:") ? undefined : name.slice(0, at);
}

/** Checks the settings of a model before they are kept. */
export function checkModelSettings(name: string, settings: ModelSettings): void {
  const { adapter, url, quirks } = settingsOf(name, settings);
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
  if (quirks) parseInput(ChatQuirks.partial(), quirks);
}

/** The settings of a model with those that its provider has for all of its models. */
function settingsOf(name: string, settings: ModelSettings): ModelSettings {
  const provider = providerOf(name) ?? "";
  const known = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  const usual: ModelSettings = known ?? (isClaudeName(name) ? { adapter: "anthropic" } : {});
  return { ...usual, ...settings, ...(usual.quirks && { quirks: { ...usual.quirks, ...settings.quirks } }) };
}

function openModel(name: string, given: ModelSettings, { keyIn, silenceMs }: CatalogDeps): Model {
  const { adapter, url, key_env, abilities = {}, quirks = {}, price, model_name } = settingsOf(name, given);
  const modelName = model_name ?? name.slice(name.indexOf("/") + 1);
  const apiKey = key_env === undefined ? undefined : keyIn(key_env);
  if (key_env !== undefined && (apiKey === undefined || apiKey === ""))
    return failingModel(`The model "${name}" needs a key in the environment variable ${key_env}, and it is not set.`);
  const shared = {
    modelName,
    // A field that is not given must not stand in the place of what the adapter knows.
    abilities: Object.fromEntries(Object.entries(abilities).filter(([, value]) => value !== undefined)),
    price: givenPrice(name, price),
    ...(silenceMs !== undefined && { silenceMs }),
  };
  switch (adapter) {
    case "anthropic":
      return createAnthropicModel({ ...shared, apiKey: apiKey ?? "none", ...(url !== undefined && { baseUrl: url }) });
    case "openai":
      return createOpenAiModel({ ...shared, apiKey: apiKey ?? "none", url });
    case "openai-compatible":
      if (url === undefined) return failingModel(`The model "${name}" has no address. Add it again with --url.`);
      return createOpenAiCompatibleModel({
        ...shared,
        apiKey,
        url,
        quirks: parseInput(ChatQuirks.partial(), quirks) as Partial<ChatQuirks>,
      });
    case undefined:
      return failingModel(`The model "${name}" has no adapter. Add it again with --adapter.`);
  }
}

/** A model that cannot be asked: each call fails at once with the sentence. */
function failingModel(message: string): Model {
  return {
    abilities: { tools: true, images: true, pdf: true, thinking: true, output: true },
    prepare: () => ({ api: "none", body: {}, leftOut: [] }),
    call: () => Promise.reject(new ModelFailure({ code: "unknown_model", message }, { retryable: false })),
  };
}
