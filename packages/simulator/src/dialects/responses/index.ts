/** OpenAI's Responses API, without its memory: nothing is stored, so items come back whole or not at all. */
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
