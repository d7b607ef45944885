import { z } from "zod";

const tokens = z.number().nullish();

/** The token counters of one model call, as the API returned them. All lines of an answer repeat them. */
export const UsageInfo = z.looseObject({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_creation_input_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation: z.looseObject({ ephemeral_5m_input_tokens: tokens, ephemeral_1h_input_tokens: tokens }).nullish(),
  server_tool_use: z.looseObject({ web_search_requests: tokens, web_fetch_requests: tokens }).nullish(),
  service_tier: z.string().nullish(),
  inference_geo: z.string().nullish(),
  speed: z.string().nullish(),
});
