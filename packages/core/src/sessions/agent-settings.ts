import { type AgentConfig, KnownError } from "@skein/protocol";
import { checkOutputSchema } from "../model/output-schema.ts";

type Settings = Pick<
  AgentConfig,
  "runtime" | "thinking_tokens" | "api_kwargs" | "output_schema" | "fallback_models" | "skills"
>;

/** Rejects settings that no model accepts, before the first run fails because of them. */
export function checkAgentSettings(settings: Settings): void {
  checkSampling(settings);
  const { runtime, output_schema, fallback_models = [], skills = [] } = settings;
  if (runtime !== "loop" && skills.length > 0)
    throw new KnownError(
      "invalid",
      "skills: Agents of Claude Code find their skills themselves. Use skills of the Claude API.",
    );
  if (runtime !== "loop" && fallback_models.length > 0)
    throw new KnownError(
      "invalid",
      "fallback_models: Agents of Claude Code have no such list. Use fallback_model of the Claude API.",
    );
  if (new Set(fallback_models).size < fallback_models.length)
    throw new KnownError("invalid", "fallback_models: A model is in the list twice.");
  if (output_schema !== undefined) checkOutputSchema(output_schema);
}

/** Rejects settings that models do not accept together with thinking. */
function checkSampling({ runtime, thinking_tokens, api_kwargs }: Settings): void {
  if (runtime !== "loop" || thinking_tokens === 0) return;
  const { temperature = 1, top_p = 1, top_k } = api_kwargs;
  const refused = temperature !== 1 ? "temperature" : top_k !== undefined ? "top_k" : undefined;
  if (refused !== undefined)
    throw new KnownError(
      "invalid",
      `api_kwargs.${refused} cannot be set together with thinking_tokens. Leave one of the two out.`,
    );
  if (!(Number(top_p) >= 0.95))
    throw new KnownError("invalid", "api_kwargs.top_p must be 0.95 to 1 when thinking_tokens is set.");
}
