import type { ModelFailure } from "../ports/model.ts";
import type { RunState, SessionState } from "../log/state.ts";
import { firstModelOf } from "./request.ts";

/**
 * Failures that another model may avoid but a retry cannot: the provider rejects the API key or the account, or does not
 * have the model, or the model cannot use tools.
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
 * Returns the next model of the agent's list after the last attempt of a model failed. Returns undefined at the end of
 * the list. Also returns undefined if every model would fail, for example for an invalid request. Reasons:
 * docs/decisions/203-fallback-and-ai-sdk.md.
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
