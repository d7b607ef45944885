import { ApiError } from "../api-error.ts";
import type { JsonObject } from "../wire.ts";

const NAMES = ["gpt-6", "gpt-6-mini"];
const MODELS: readonly JsonObject[] = NAMES.map((id) => ({
  id,
  object: "model",
  created: 1_767_225_600,
  owned_by: "skein-simulator",
}));

/**
 * Returns the answer of `/v1/models` for an OpenAI client: the list, or one model. Requests may also name other models.
 */
export function openaiModels(id: string): JsonObject {
  if (id === "") return { object: "list", data: MODELS };
  const found = MODELS.find((each) => each.id === id);
  if (!found) throw new ApiError(404, { message: `The model '${id}' does not exist`, code: "model_not_found" });
  return found;
}
