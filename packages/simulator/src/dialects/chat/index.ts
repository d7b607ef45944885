/** OpenAI's Chat Completions, and the variants of other servers (`quirks`). */
import { errorBody, errorOf } from "../../openai/errors.ts";
import { checkBearer } from "../../openai/fields.ts";
import type { Dialect } from "../dialect.ts";
import { completionOf } from "./completion.ts";
import { chunksOf } from "./chunks.ts";
import { parseChat } from "./parse-chat.ts";

export const chat: Dialect = {
  callPrefix: "call_",
  checkKey: checkBearer,
  parse: parseChat,
  whole: completionOf,
  events: chunksOf,
  errorBody,
  errorEvent: (error) => ({ text: `data: ${JSON.stringify({ error: errorOf(error) })}\n\n`, kind: "end" }),
};
