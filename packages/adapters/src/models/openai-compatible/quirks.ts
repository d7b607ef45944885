import { z } from "zod";

/** How a server that speaks Chat Completions differs from OpenAI's. A server without quirks is called as OpenAI is. */
export const ChatQuirks = z.strictObject({
  /** The field that limits the answer: `max_tokens` on most servers but OpenAI's. */
  max_tokens_field: z.enum(["max_completion_tokens", "max_tokens"]).default("max_tokens"),
  /** The role of the system prompt. */
  system_role: z.enum(["system", "developer"]).default("system"),
  /** The server rejects `stream_options`, and so sends no counts in streams. */
  no_stream_options: z.boolean().default(false),
  /** How the server is asked to think. */
  thinking: z
    .enum(["none", "reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"])
    .default("none"),
  /** The field in which earlier reasoning is sent back, for servers that want to see it again. */
  reasoning_back: z.enum(["none", "reasoning_content", "reasoning", "reasoning_text"]).default("none"),
  /** Results of calls need the name of their tool. */
  named_results: z.boolean().default(false),
});
export type ChatQuirks = z.output<typeof ChatQuirks>;
