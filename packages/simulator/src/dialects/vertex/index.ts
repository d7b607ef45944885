/** Claude on Google's Vertex AI: the Messages API behind `rawPredict` and `streamRawPredict`. */
import { ApiError } from "../../api-error.ts";
import { versionOf, withoutOwn } from "../bedrock/index.ts";
import type { Dialect } from "../dialect.ts";
import { errorBody } from "../gemini/errors.ts";
import { messages } from "../messages/index.ts";
import { parseRequest } from "../messages/parse-request.ts";

export const VERTEX_PATH =
  /^\/v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/anthropic\/models\/(?<model>[^/]+):(?<verb>rawPredict|streamRawPredict)$/;

/** Google answers with these statuses before the request reaches the model. */
const OF_GOOGLE = new Set([401, 403, 404, 429]);

export const vertex: Dialect = {
  ...messages,
  callPrefix: "toolu_vrtx_",
  checkKey({ headers }) {
    if (/^Bearer \S/.test(headers.authorization ?? "")) return;
    throw new ApiError(401);
  },
  parse(body, { path }) {
    const { model = "" } = VERTEX_PATH.exec(path)?.groups ?? {};
    return parseRequest({ ...withoutOwn(body, ["model"]), model: decodeURIComponent(model) }, versionOf(body));
  },
  errorBody: (error, requestId) =>
    OF_GOOGLE.has(error.status) ? errorBody(error) : messages.errorBody(error, requestId),
};
