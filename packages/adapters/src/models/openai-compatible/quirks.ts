import { z } from "zod";

/** How a server with the Chat Completions API differs from OpenAI's. A server without quirks is called like OpenAI's. */
export const ChatQuirks = z.strictObject({
  /** The field that limits the answer: on most servers except OpenAI's it is `max_tokens`. */
  max_tokens_field: z.enum(["max_completion_tokens", "max_tokens"]).default("max_tokens"),
  /** The role of the system prompt. */
  system_role: z.enum(["system", "developer"]).default("system"),
  /** The server rejects `stream_options`, so its streams have no counts. */
  no_stream_options: z.boolean().default(false),
  /** How thinking is requested. */
  thinking: z
    .enum(["none", "reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"])
    .default("none"),
  /** The field in which earlier reasoning is sent back, for servers that require it. */
  reasoning_back: z.enum(["none", "reasoning_content", "reasoning", "reasoning_text"]).default("none"),
  /** Results of calls need the name of their tool. */
  named_results: z.boolean().default(false),
});
export type ChatQuirks = z.output<typeof ChatQuirks>;
