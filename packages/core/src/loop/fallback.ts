import type { ModelFailure } from "../ports/model.ts";
import type { RunState, SessionState } from "../log/state.ts";
import { firstModelOf } from "./request.ts";

/**
 * Failures that a retry does not fix but another model may avoid: the provider rejects this key, does not have the
 * model, or the model has no tools.
 */
const REFUSALS_TO_SERVE: ReadonlySet<string> = new Set([
  "authentication_error",
  "permission_error",
  "billing_error",
  "not_found_error",
  "unknown_model",
  "no_model",
  "no_tools",
]);

/**
 * The model that is called after the last attempt of the current model failed: the next in the agent's list. Undefined
 * at the end of the list, and for a failure that every model would have, such as an invalid request. Reasons: decision
 * 203.
 */
export function fallbackAfter(
  { retryable, failure }: ModelFailure,
  state: SessionState,
  { fallback }: RunState,
): string | undefined {
  if (!retryable && !REFUSALS_TO_SERVE.has(failure.code)) return undefined;
  const models = state.agent?.fallback_models ?? [];
  const first = firstModelOf(state);
  return models.slice(fallback ? models.indexOf(fallback.model) + 1 : 0).find((name) => name !== first);
}
