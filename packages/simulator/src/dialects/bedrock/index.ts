/** Claude on Amazon Bedrock: the Messages API behind `InvokeModel` and `InvokeModelWithResponseStream`. */
import { ApiError, invalid } from "../../api-error.ts";
import { isObject, type JsonObject } from "../../wire.ts";
import type { Dialect } from "../dialect.ts";
import { messages } from "../messages/index.ts";
import { parseRequest } from "../messages/parse-request.ts";
import { eventFrame } from "./event-stream.ts";

export const BEDROCK_PATH = /^\/model\/(?<model>[^/]+)\/(?<verb>invoke|invoke-with-response-stream)$/;

const SIGNED =
  /^AWS4-HMAC-SHA256 Credential=[^/,\s]+\/\d{8}\/[a-z0-9-]+\/bedrock\/aws4_request, SignedHeaders=(?<signed>[a-z0-9;-]+), Signature=[0-9a-f]{64}$/;

const EXCEPTIONS: Readonly<Record<number, string>> = {
  400: "ValidationException",
  401: "UnrecognizedClientException",
  403: "AccessDeniedException",
  404: "ResourceNotFoundException",
  408: "ModelTimeoutException",
  424: "ModelErrorException",
  429: "ThrottlingException",
  503: "ServiceUnavailableException",
};

export const bedrock: Dialect = {
  callPrefix: "toolu_bdrk_",
  streamType: "application/vnd.amazon.eventstream",
  checkKey({ headers }) {
    const given = headers.authorization ?? "";
    if (given.startsWith("Bearer ") && given.length > 7) return;
    const signed = SIGNED.exec(given)?.groups?.signed?.split(";");
    if (!signed || headers["x-amz-date"] === undefined)
      throw new ApiError(403, { message: "Missing Authentication Token" });
    for (const name of ["host", "x-amz-date"])
      if (!signed.includes(name)) throw new ApiError(403, { message: `'${name}' must be a 'SignedHeader'.` });
  },
  parse(body, { path }) {
    const { model = "", verb } = BEDROCK_PATH.exec(path)?.groups ?? {};
    return parseRequest(
      { ...withoutOwn(body, ["model", "stream"]), model: decodeURIComponent(model), stream: verb !== "invoke" },
      versionOf(body),
    );
  },
  whole: messages.whole,
  events: (answer) =>
    messages
      .events(answer)
      .filter(({ text }) => !String(text).startsWith("event: ping"))
      .map(({ text, kind }) => ({ kind, text: chunkFrame(dataOf(String(text))) })),
  errorBody: ({ message }) => JSON.stringify({ message }),
  errorHeaders: ({ status }) => ({
    "x-amzn-errortype": EXCEPTIONS[status] ?? (status < 500 ? "ValidationException" : "InternalServerException"),
  }),
  errorEvent: ({ status, message }) => ({
    kind: "end",
    text: eventFrame(
      {
        ":exception-type": status === 529 ? "serviceUnavailableException" : "internalServerException",
        ":content-type": "application/json",
        ":message-type": "exception",
      },
      JSON.stringify({ message }),
    ),
  }),
};

/** The version of the API, which Bedrock expects in the body. */
export function versionOf(body: unknown): string {
  const version = isObject(body) ? body.anthropic_version : undefined;
  if (typeof version !== "string") throw invalid("anthropic_version", "Field required");
  return version;
}

/** Returns the body without the fields that only cloud providers expect. Rejects fields that belong in the URL. */
export function withoutOwn(body: unknown, refused: readonly string[]): JsonObject {
  if (!isObject(body)) throw invalid("", "Request body must be a JSON object");
  for (const name of refused) if (body[name] !== undefined) throw invalid(name, "Extra inputs are not permitted");
  const { anthropic_version: _version, anthropic_beta: _beta, ...rest } = body;
  return rest;
}

function dataOf(event: string): string {
  return event.slice(event.indexOf("data: ") + 6).trimEnd();
}

function chunkFrame(data: string): Buffer {
  const bytes = Buffer.from(data).toString("base64");
  return eventFrame(
    { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" },
    JSON.stringify({ bytes, p: "abcdefghijklm" }),
  );
}
