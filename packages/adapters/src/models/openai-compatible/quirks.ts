import { z } from "zod";

/** Describes how a server's Chat Completions API differs from OpenAI's. */
export const ChatQuirks = z.strictObject({
  /** The name of the field that limits the answer's length. Only OpenAI uses `max_completion_tokens`. */
  max_tokens_field: z.enum(["max_completion_tokens", "max_tokens"]).default("max_tokens"),
  /** The role of the system prompt. */
  system_role: z.enum(["system", "developer"]).default("system"),
  /** True if the server rejects `stream_options`. Its streams then have no token counts. */
  no_stream_options: z.boolean().default(false),
  /** The field that turns thinking on. */
  thinking: z
    .enum(["none", "reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"])
    .default("none"),
  /** The field for earlier reasoning, if the server requires it in the next request. */
  reasoning_back: z.enum(["none", "reasoning_content", "reasoning", "reasoning_text"]).default("none"),
  /** True if a tool result needs the name of its tool. */
  named_results: z.boolean().default(false),
});
export type ChatQuirks = z.output<typeof ChatQuirks>;
