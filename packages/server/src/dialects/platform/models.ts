import { shownModel } from "@skein/core";
import { KnownError, type ModelTrial } from "@skein/protocol";
import { allows } from "../../keys.ts";
import type { Handlers, RequestContext } from "../../request-context.ts";

/** The maximum duration of all calls of a trial together. */
const TRIAL_MS = 120_000;

/** The models of the caller's tenant, and their settings. */
export const modelHandlers = {
  async listModels(_, { models, principal }) {
    const all = await models.list();
    const reached = allows(principal, "admin") ? await models.reached() : undefined;
    return { data: all.map((model) => shownModel(model, reached?.get(model.name))) };
  },
  async addModel({ body: { name, is_default, settings, key } }, call) {
    const { models, principal, shared } = call;
    const { modelAdmin, models: catalog } = shared.deps;
    const before = (await models.reached()).get(name);
    const given = settings ?? (key === undefined ? undefined : (before?.settings ?? {}));
    if (given) {
      if (!modelAdmin)
        throw new KnownError("invalid", "settings: This server accepts only names of models, without settings.");
      const keeps = before?.keySecret !== undefined && given.key_env === undefined;
      modelAdmin.check({ tenant: principal.tenant, name, settings: given, key, hasKey: key !== undefined || keeps });
    }
    const model = await models.add({ name, isDefault: is_default, settings: given, key, isGuarded: true });
    await catalog?.refresh(principal.tenant, { isUrgent: true });
    return shownModel(model, (await models.reached()).get(name));
  },
  async testModel({ params }, call) {
    const { models, principal, shared } = call;
    const { modelAdmin, models: catalog } = shared.deps;
    const { name } = await models.get(params.model_id);
    if (!modelAdmin || !catalog)
      throw new KnownError("not_found", "This server calls no models, so it cannot try one.");
    await catalog.refresh(principal.tenant, { isUrgent: true });
    const data: ModelTrial[] = [];
    for await (const trial of modelAdmin.try(name, catalog.named(principal.tenant, name), endOf(call)))
      data.push({ ...trial, detail: trial.detail.slice(0, MOST_DETAIL) });
    return { works: data.every(({ outcome }) => outcome !== "fails"), data };
  },
  async removeModel({ params }, { models, principal, shared }) {
    await models.remove(params.model_id);
    await shared.deps.models?.refresh(principal.tenant, { isUrgent: true });
    return undefined;
  },
} satisfies Partial<Handlers>;

/** The maximum number of characters of a model's answer or an error in a trial. */
const MOST_DETAIL = 500;

/** Returns a signal that aborts when the caller disconnects, when the server stops, and after TRIAL_MS. */
function endOf({ reply, shared }: RequestContext): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  return AbortSignal.any([gone.signal, shared.stopping, AbortSignal.timeout(TRIAL_MS)]);
}
