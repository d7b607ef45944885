import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError } from "./api-error.ts";
import { type JsonBody, LARGE, readJson } from "./json-body.ts";
import { BODY_SHAPE, LOG_SHAPE } from "./json-shape.ts";
import type { SharedPlaces } from "./shared-places.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The SHA-256 of the body of a request with an Idempotency-Key. */
    bodyDigest: string | undefined;
    /**
     * Releases the memory for the body, so that the next large body may be read. Called automatically when the
     * response was sent, or when the connection is closed.
     */
    bodyDone(): void;
  }
}

/** Reads bodies as JSON. A large body waits until memory for it is free, and tenants take turns. */
export function acceptOnlyJson(app: FastifyInstance, places: SharedPlaces): void {
  app.removeAllContentTypeParsers();
  app.decorateRequest("bodyDigest", undefined);
  app.decorateRequest("bodyDone", () => {});
  // A parser does not get the reply, so a hook releases the memory when the reply is closed.
  app.addHook("onRequest", (request, reply, done) => {
    if (!(lengthOf(request.headers) <= LARGE)) reply.raw.once("close", () => request.bodyDone());
    done();
  });
  app.addContentTypeParser("application/json", async (request: FastifyRequest, payload: Readable) => {
    const { headers, routeOptions } = request;
    if (!isPlainUtf8(headers)) throw new ApiError("unsupported_media_type", "Expected JSON in UTF-8, not compressed.");
    const limit = routeOptions.bodyLimit ?? app.initialConfig.bodyLimit ?? 0;
    const announced = lengthOf(headers);
    const read = (): Promise<JsonBody> =>
      readJson(payload, {
        limit,
        shape: routeOptions.config.route === "importSession" ? LOG_SHAPE : BODY_SHAPE,
        announced,
        digested: headers["idempotency-key"] !== undefined,
      });
    if (!(announced <= LARGE || announced > limit)) await makeRoom(request, payload, announced || limit);
    const { value, digest } = await read();
    request.bodyDigest = digest;
    return value;
  });

  async function makeRoom(request: FastifyRequest, payload: Readable, bytes: number): Promise<void> {
    try {
      const giveBack = await places.body(request.principal?.tenant ?? "", bytes);
      request.bodyDone = giveBack;
      // If the caller has disconnected, the memory for the body is released immediately.
      if (request.raw.destroyed) giveBack();
    } catch (error) {
      // Some clients read the response only after they sent the whole body, so the rest of the body is read and dropped.
      payload.resume();
      throw error;
    }
  }
}

/** The announced length of a body; 0 for a request without a body, NaN for a chunked body. */
function lengthOf(headers: IncomingHttpHeaders): number {
  return headers["content-length"] === undefined && headers["transfer-encoding"] === undefined
    ? 0
    : Number(headers["content-length"]);
}

function isPlainUtf8({
  "content-type": type = "",
  "content-encoding": coding = "identity",
}: IncomingHttpHeaders): boolean {
  const charset = /;\s*charset="?([^";\s]*)/i.exec(type)?.[1] ?? "utf-8";
  return coding.toLowerCase() === "identity" && /^(utf-?8|us-ascii)$/i.test(charset);
}
