/** Anthropic's Messages API. */
import { ApiError, errorBody } from "../../api-error.ts";
import type { JsonObject } from "../../wire.ts";
import type { Dialect } from "../dialect.ts";
import { parseRequest } from "./parse-request.ts";
import { streamEvent, streamEventsOf } from "./stream-events.ts";

export const messages: Dialect = {
  callPrefix: "toolu_",
  checkKey({ headers }) {
    if (headers["x-api-key"] === undefined && headers.authorization === undefined) {
      throw new ApiError(401, { message: "x-api-key header is required" });
    }
    if (headers["anthropic-version"] === undefined) {
      throw new ApiError(400, { message: "anthropic-version: header is required" });
    }
  },
  parse: (body, { headers }) => parseRequest(body, String(headers["anthropic-version"] ?? "")),
  whole: ({ message }) => message as unknown as JsonObject,
  events: ({ message, step }) => streamEventsOf(message, step.chunk),
  errorBody,
  errorEvent: (error, requestId) => streamEvent("error", errorBody(error, requestId)),
};
