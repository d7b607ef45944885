import { ApiError } from "../../api-error.ts";
import type { JsonObject } from "../../wire.ts";

const MODELS: readonly JsonObject[] = ["gemini-3-pro", "gemini-3-flash"].map((id) => ({
  name: `models/${id}`,
  version: "001",
  displayName: `${id} (simulated)`,
  inputTokenLimit: 1_048_576,
  outputTokenLimit: 65_536,
  supportedGenerationMethods: ["generateContent", "countTokens"],
  thinking: true,
}));

/** The answer of `/v1beta/models`: the list, or one model. Requests may also name models that are not in the list. */
export function geminiModels(id: string): JsonObject {
  if (id === "") return { models: MODELS };
  const found = MODELS.find(({ name }) => name === `models/${id}`);
  const message = `Model is not found: models/${id} for api version v1beta`;
  if (!found) throw new ApiError(404, { message });
  return found;
}
