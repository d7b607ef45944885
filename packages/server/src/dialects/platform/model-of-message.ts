import { type Agent, KnownError, type Session, isKnownError } from "@skein/protocol";
import type { Caller } from "../../request-context.ts";

export type Extras = Agent["config"]["extras"];

export const USES_DEFAULT_MODEL = "uses_default_model";

/**
 * Returns the model that answers a message: the message's model, the session's model, the agent's model or the default
 * model. The first model that is set applies. Null stands for the agent's model.
 */
export async function modelOfMessage(call: Caller, session: Session, modelId: string | null): Promise<string | null> {
  if (modelId !== null) return (await modelNamed(call, modelId)).name;
  if (session.model_id !== null) return (await modelNamed(call, session.model_id)).name;
  return (await followsDefault(call, session)) ? defaultModel(call) : null;
}

/**
 * Returns the model with an id from a request's body. An unknown id is an error in the body (422), not a missing
 * resource (404).
 */
export async function modelNamed({ models }: Pick<Caller, "models">, id: string) {
  try {
    return await models.get(id);
  } catch (error) {
    if (isKnownError(error, "not_found")) throw new KnownError("invalid", `There is no model ${id}.`);
    throw error;
  }
}

/** Returns the model of an agent. An agent without a model gets the default model, and its extras record this. */
export async function modelOfAgent(
  call: Caller,
  { model, default_model_id }: { model?: string | undefined; default_model_id?: string | null | undefined },
  { [USES_DEFAULT_MODEL]: _, ...extras }: Extras,
): Promise<{ readonly model: string; readonly extras: Extras }> {
  if (default_model_id) return { model: (await modelNamed(call, default_model_id)).name, extras };
  if (model !== undefined) return { model, extras };
  return { model: await defaultModel(call), extras: { ...extras, [USES_DEFAULT_MODEL]: true } };
}

/** Returns the tenant's default model, or the server's default model if the tenant has none. */
async function defaultModel({ models, shared }: Caller): Promise<string> {
  return (await models.default())?.name ?? shared.deps.defaultModel;
}

/** Whether a version of an agent uses the default model. Versions never change, so this value is kept. */
const seen = new Map<string, boolean>();
const SEEN = 10_000;

async function followsDefault({ agents }: Caller, { agent_id, agent_version }: Session): Promise<boolean> {
  const key = `${agent_id}/${agent_version}`;
  const known = seen.get(key);
  if (known !== undefined) return known;
  // Some versions of an agent that is defined in code are not stored. Such agents always name a model.
  const agent = await agents.version(agent_id, agent_version).catch((error: unknown) => {
    if (isKnownError(error, "not_found")) return undefined;
    throw error;
  });
  if (seen.size >= SEEN) seen.clear();
  seen.set(key, agent?.config.extras[USES_DEFAULT_MODEL] === true);
  return seen.get(key) ?? false;
}
