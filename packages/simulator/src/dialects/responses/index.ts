/** OpenAI's Responses API without stored conversations: every request must contain all earlier items. */
import { errorBody, errorOf } from "../../openai/errors.ts";
import { checkBearer } from "../../openai/fields.ts";
import type { Dialect } from "../dialect.ts";
import { parseResponses } from "./parse-responses.ts";
import { responseEvents } from "./response-events.ts";
import { responseOf } from "./response.ts";

export const responses: Dialect = {
  callPrefix: "call_",
  checkKey: checkBearer,
  parse: parseResponses,
  whole: responseOf,
  events: responseEvents,
  errorBody,
  errorEvent(error) {
    const { message, code, param, type } = errorOf(error);
    const data = { type: "error", code: code ?? type, message, param, sequence_number: 0 };
    return { text: `event: error\ndata: ${JSON.stringify(data)}\n\n`, kind: "end" };
  },
};
