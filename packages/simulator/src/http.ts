import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError, invalid } from "./api-error.ts";
import type { Dialect } from "./dialects/dialect.ts";

export const JSON_TYPE = { "content-type": "application/json" } as const;

/** Reads a whole body. Throws a 413 above the limit, and throws if the client disconnects. */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const refuse = (): void => {
      chunks.length = 0;
      const tooLarge = (): void => reject(new ApiError(413, { headers: { connection: "close" } }));
      // The rest of the body is read and dropped before the error is sent. Otherwise a client that is still sending
      // would see only a closed connection. After `limit` dropped bytes, the error is sent at once.
      let dropped = 0;
      request.removeAllListeners("data").on("data", (chunk: Buffer) => {
        dropped += chunk.length;
        if (dropped > limit) tooLarge();
      });
      request.removeAllListeners("end").once("end", tooLarge).once("close", tooLarge);
    };
    if (Number(request.headers["content-length"] ?? 0) > limit) return refuse();
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limit) return refuse();
      chunks.push(chunk);
    });
    request.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on("error", reject);
  });
}

export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch {
    throw invalid("", "The request body is not valid JSON");
  }
}

export function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, JSON_TYPE).end(JSON.stringify(body));
}

export function sendError(response: ServerResponse, error: ApiError, { errorBody, errorHeaders }: Dialect): void {
  const body = errorBody(error, String(response.getHeader("request-id")));
  response.writeHead(error.status, { ...JSON_TYPE, ...errorHeaders?.(error), ...error.headers }).end(body);
}
