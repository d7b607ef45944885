import { type ApiModel, KnownError, Line, LlmModel, ModelSettings, createIds } from "@skein/protocol";
import { z } from "zod";
import { createSecrets } from "../secrets/secrets.ts";
import type { AgentsDeps } from "./agents.ts";
import { parseInput } from "./parse-input.ts";

/** How a model is reached, without its name. */
export interface ReachedModel {
  readonly settings: ModelSettings;
  /** The reference of the provider's API key, if this key is in the store. */
  readonly keySecret: string | undefined;
  /**
   * Whether a request added the model. Such a model may connect only to addresses that the operator opened to requests.
   */
  readonly isGuarded: boolean;
}

interface NewModel {
  readonly name: string;
  /** Makes this model the default. The earlier default model is then an ordinary model. */
  readonly isDefault?: boolean;
  /** How the model is reached. Replaces earlier settings. */
  readonly settings?: ModelSettings | undefined;
  /**
   * The provider's API key, to be stored. Without `key`, a model keeps its stored API key if its address stays the
   * same.
   */
  readonly key?: string | undefined;
  readonly isGuarded?: boolean;
}

/** The models that agents and sessions refer to by id: the platform API's `llm_models`. */
export interface Models {
  /** Adds a model. If a model of this name exists, applies the given changes to that model. */
  add(model: NewModel): Promise<LlmModel>;
  /** Removes a model and its stored API key. */
  remove(id: string): Promise<void>;
  /** Returns how models are reached, by model name. Models without settings are left out. */
  reached(): Promise<ReadonlyMap<string, ReachedModel>>;
  list(): Promise<readonly LlmModel[]>;
  get(id: string): Promise<LlmModel>;
  default(): Promise<LlmModel | undefined>;
}

/** A model as an admin sees it, without its key. */
export function shownModel(model: LlmModel, reached: ReachedModel | undefined): ApiModel {
  if (!reached) return { ...model, settings: null, key: null };
  const { settings, keySecret } = reached;
  const key = keySecret !== undefined ? "stored" : settings.key_env === undefined ? "none" : "environment";
  return { ...model, settings, key };
}

const KIND = "llm_model";

/** The fields of a model's record that are not in `LlmModel`. They say how the model is reached. */
const Reach = z.object({
  settings: ModelSettings.optional(),
  key_secret: z.string().optional(),
  guarded: z.boolean().optional(),
});
type Reach = z.infer<typeof Reach>;

export function createModels({
  records,
  tenant = "default",
  now = Date.now,
  ids = createIds({ now }),
}: AgentsDeps): Models {
  const secrets = createSecrets(records);

  async function kept(): Promise<readonly { readonly model: LlmModel; readonly reach: Reach }[]> {
    const { items } = await records.list({ tenant, kind: KIND, limit: 1000 });
    return items.map(({ value }) => ({ model: LlmModel.parse(value), reach: Reach.parse(value) }));
  }

  const list = async (): Promise<readonly LlmModel[]> => (await kept()).map(({ model }) => model);

  function record({ model, reach }: { readonly model: LlmModel; readonly reach: Reach }) {
    return { tenant, kind: KIND, id: model.id, value: { ...model, ...reach }, fields: { name: model.name } };
  }

  /**
   * Returns how the model is reached from now on. Stores a new API key first, so that no record refers to a key that
   * does not exist.
   */
  async function newReach(id: string, given: NewModel, before: Reach | undefined): Promise<Reach> {
    const { settings, key, isGuarded = false } = given;
    if (!settings && key === undefined) return before ?? {};
    const changed: Reach = { settings: settings ?? before?.settings ?? {}, ...(isGuarded && { guarded: true }) };
    if (key !== undefined) return { ...changed, key_secret: await secrets.put(tenant, `model-${id}`, key) };
    if (before?.key_secret === undefined || changed.settings?.key_env !== undefined) return changed;
    if (changed.settings?.url !== before.settings?.url || changed.settings?.adapter !== before.settings?.adapter)
      throw new KnownError("invalid", "key: The address of the model changes. Give the provider's API key again.");
    return { ...changed, key_secret: before.key_secret };
  }

  return {
    async add(given) {
      const name = parseInput(Line.min(1).max(100), given.name);
      const { isDefault = false } = given;
      const all = await kept();
      const known = all.find(({ model }) => model.name === name);
      const isSame = given.settings === undefined && given.key === undefined;
      if (known && isSame && (known.model.is_default || !isDefault)) return known.model;
      const model: LlmModel = {
        id: known?.model.id ?? ids(),
        name,
        provider: /^([^/:]+)\//.exec(name)?.[1] ?? "anthropic",
        is_default: isDefault || known?.model.is_default === true,
        created_at: known?.model.created_at ?? new Date(now()).toISOString(),
      };
      const reach = await newReach(model.id, given, known?.reach);
      const others = isDefault ? all.filter(({ model: { id, is_default } }) => is_default && id !== model.id) : [];
      await records.put([
        { ...record({ model, reach }), ...(!known && { expect: 0 }) },
        ...others.map((other) => record({ ...other, model: { ...other.model, is_default: false } })),
      ]);
      const unused = known?.reach.key_secret;
      if (unused !== undefined && reach.key_secret === undefined) await secrets.delete(tenant, unused);
      return model;
    },
    async remove(id) {
      const found = await records.get(tenant, KIND, id);
      if (!(await records.delete(tenant, KIND, id))) throw new KnownError("not_found", `There is no model ${id}.`);
      const { key_secret } = Reach.parse(found?.value ?? {});
      if (key_secret !== undefined) await secrets.delete(tenant, key_secret);
    },
    async reached() {
      const all = await kept();
      return new Map(
        all.flatMap(({ model, reach: { settings, key_secret, guarded = false } }) =>
          settings ? [[model.name, { settings, keySecret: key_secret, isGuarded: guarded }] as const] : [],
        ),
      );
    },
    list,
    async get(id) {
      const found = await records.get(tenant, KIND, id);
      if (!found) throw new KnownError("not_found", `There is no model ${id}.`);
      return LlmModel.parse(found.value);
    },
    default: async () => (await list()).find(({ is_default }) => is_default),
  };
}
