import { type GuardedRequestOptions, isPublicAddress, urlProblem } from "@skein/adapters/tools";
import { KnownError, type ModelSettings, isJsonKey, providerOf } from "@skein/protocol";
import { PROVIDERS, settingsOf } from "./model-providers.ts";

/** Additional permissions for models that HTTP requests add. */
export interface OpenedToModels {
  /** Addresses that are not public. */
  readonly addresses: readonly string[];
  /** Environment variables of the server that contain API keys. */
  readonly keyVariables: readonly string[];
}

/** Rejects a key that the API of the model cannot use. */
export function checkModelKey(name: string, settings: ModelSettings, key: string | undefined): void {
  const { adapter } = settingsOf(name, settings);
  if (key === undefined || adapter === "vertex" || !isJsonKey(key)) return;
  throw new KnownError(
    "invalid",
    `key: The JSON of a service account is the key of a model with the adapter vertex. The adapter of this model is ${adapter ?? "unknown"}.`,
  );
}

interface AddedModel {
  readonly tenant: string;
  readonly name: string;
  readonly settings: ModelSettings;
  /** Whether the model's key is in the store. */
  readonly hasKey: boolean;
}

/** The tenant of the operator. */
const OPERATOR = "default";

/**
 * Returns the addresses that models may have if HTTP requests add them: public addresses, and addresses that the
 * operator allowed. The operator's tenant may also use addresses of the server's machine. Decision 202 in
 * docs/decisions has the reasons.
 */
export function modelPlaces(
  tenant: string,
  { addresses }: OpenedToModels,
): Required<Pick<GuardedRequestOptions, "allowsAddress" | "allowsPort">> {
  return {
    allowsAddress: (address) =>
      isPublicAddress(address) || addresses.includes(address) || (tenant === OPERATOR && isLoopback(address)),
    allowsPort: () => true,
  };
}

/**
 * Throws for a model that a request may not add. A key in the server's environment belongs to the operator: only models
 * of the operator's tenant may use the key. They may use it only at the address of its provider, unless
 * SKEIN_MODEL_KEY_VARIABLES names its variable.
 */
export function checkAddedModel({ tenant, name, settings, hasKey }: AddedModel, opened: OpenedToModels): void {
  const { adapter, url, key_env } = settingsOf(name, settings);
  if (url !== undefined) {
    const isOwnMachine = tenant === OPERATOR && URL.parse(url)?.hostname === "localhost";
    const problem = isOwnMachine ? undefined : urlProblem(url, modelPlaces(tenant, opened));
    if (problem !== undefined)
      throw new KnownError(
        "url_not_allowed",
        `url: ${problem} To allow an address, the operator sets SKEIN_ALLOWED_MODEL_ADDRESSES.`,
      );
  }
  if (hasKey && settings.key_env !== undefined)
    throw new KnownError("invalid", "Expected key or key_env, and not both.");
  if (hasKey || key_env === undefined) return;
  if (tenant !== OPERATOR)
    throw new KnownError("not_allowed", "key_env: Keys in the server's environment are the operator's. Give a key.");
  const provider = PROVIDERS[providerOf(name) ?? ""];
  const isAtHome = key_env === provider?.key_env && url === provider.url && adapter === provider.adapter;
  if (opened.keyVariables.includes(key_env) || isAtHome) return;
  throw new KnownError(
    "not_allowed",
    `key_env: Models that are added by requests may not use the variable ${key_env}. Give a key, or start the server with SKEIN_MODEL_KEY_VARIABLES=${key_env}.`,
  );
}

function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
}
