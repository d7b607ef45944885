import { ApiError } from "./api-error.ts";
import type { JsonObject } from "./wire.ts";

const YES = { supported: true };
const CAPABILITIES = {
  batch: YES,
  citations: YES,
  code_execution: YES,
  context_management: { ...YES, clear_thinking_20251015: YES, clear_tool_uses_20250919: YES, compact_20260112: YES },
  effort: { ...YES, low: YES, medium: YES, high: YES, xhigh: YES, max: YES },
  image_input: YES,
  pdf_input: YES,
  server_tools: { ...YES, code_execution: YES, web_search: YES },
  structured_outputs: YES,
  thinking: { ...YES, types: { adaptive: YES, between_tools: YES, disabled: YES, enabled: YES } },
};

const MODELS: readonly JsonObject[] = [
  model("claude-opus-5-5", "Claude Opus 5.5", "opus"),
  model("claude-sonnet-5-5", "Claude Sonnet 5.5", "sonnet"),
  model("claude-haiku-5-5", "Claude Haiku 5.5", "haiku"),
];

/** Returns the list of `/v1/models`. Requests may also name other models. */
export function listModels(query: URLSearchParams): JsonObject {
  const after = MODELS.findIndex(({ id }) => id === query.get("after_id"));
  const data = MODELS.slice(after + 1, after + 1 + Number(query.get("limit") ?? 20));
  return {
    data,
    has_more: after + 1 + data.length < MODELS.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

export function getModel(id: string): JsonObject {
  const found = MODELS.find((each) => each.id === id);
  if (!found) throw new ApiError(404, { message: `model: ${id}` });
  return found;
}

function model(id: string, name: string, line: string): JsonObject {
  return {
    type: "model",
    id,
    display_name: `${name} (simulated)`,
    line,
    created_at: "2026-01-01T00:00:00Z",
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    max_input_tokens: 1_000_000,
    max_tokens: 128_000,
    capabilities: CAPABILITIES,
  };
}
