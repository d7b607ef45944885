import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError, errorAnswer } from "./api-error.ts";

/**
 * Answers a request whose address the router cannot parse. No hook has checked the request, so the response repeats no
 * part of it.
 */
export function answerBadAddress(_: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = new ApiError("malformed", "The address of the request cannot be read, or a part of it is too long.");
  const { status, body } = errorAnswer(error, request.id);
  void reply
    .code(status)
    .headers({ "x-content-type-options": "nosniff", "cache-control": "no-store", "x-request-id": request.id })
    .type("application/json; charset=utf-8")
    .send(JSON.stringify(body));
}

/** Creates a function that answers bytes that are not valid HTTP, and ends the connection. */
export function createUnreadableAnswer(ids: () => string): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return ({ code }, socket) => {
    if (code === "ECONNRESET" || socket.destroyed) return;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const id = ids();
    const { status, body } = errorAnswer(errorOf(code), id);
    const text = JSON.stringify(body);
    // Without "close", the client would send its next request on a connection that is about to end.
    socket.end(
      [
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
        "content-type: application/json; charset=utf-8",
        `content-length: ${Buffer.byteLength(text)}`,
        "x-content-type-options: nosniff",
        "cache-control: no-store",
        `x-request-id: ${id}`,
        "connection: close",
        "",
        text,
      ].join("\r\n"),
      () => socket.destroy(),
    );
  };
}

function errorOf(code: string | undefined): ApiError {
  if (code === "HPE_HEADER_OVERFLOW") return new ApiError("too_large", "The headers are over the limit of 16 KiB.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new ApiError("request_timeout", "The request did not arrive completely within the time limit.");
  return new ApiError("malformed", "The request cannot be read: expected HTTP with a JSON body.");
}
