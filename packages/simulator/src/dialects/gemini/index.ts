/** Google's Gemini API: `generateContent` and `streamGenerateContent`. */
import { ApiError } from "../../api-error.ts";
import type { Dialect } from "../dialect.ts";
import { errorBody } from "./errors.ts";
import { contentChunks, contentResponse } from "./content-response.ts";
import { parseGemini } from "./parse-gemini.ts";

export const gemini: Dialect = {
  callPrefix: "call_",
  checkKey({ headers, query }) {
    if (headers["x-goog-api-key"] || query.get("key") || headers.authorization) return;
    throw new ApiError(403, {
      message:
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
    });
  },
  parse: parseGemini,
  // Gemini does not report cache writes. It counts these tokens as input.
  usage: ({ input_tokens, cache_creation_input_tokens: written, ...usage }) => ({
    ...usage,
    input_tokens: input_tokens + written,
    cache_creation_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  }),
  whole: contentResponse,
  events: contentChunks,
  errorBody,
  errorEvent: (error) => ({ text: `data: ${errorBody(error)}\r\n\r\n`, kind: "end" }),
};
