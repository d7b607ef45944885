/** Finds the part that answers an HTTP request, and records the request in the ledger. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { ApiError } from "./api-error.ts";
import { BEDROCK_PATH, bedrock } from "./dialects/bedrock/index.ts";
import { chat } from "./dialects/chat/index.ts";
import type { Dialect, RequestHead } from "./dialects/dialect.ts";
import { gemini } from "./dialects/gemini/index.ts";
import { geminiModels } from "./dialects/gemini/models.ts";
import { parseCounted } from "./dialects/gemini/parse-gemini.ts";
import { messages } from "./dialects/messages/index.ts";
import { parsePrompt } from "./dialects/messages/parse-request.ts";
import { openaiModels } from "./openai/models.ts";
import { responses } from "./dialects/responses/index.ts";
import { VERTEX_PATH, vertex } from "./dialects/vertex/index.ts";
import type { FileStore } from "./file-store.ts";
import { answerFiles } from "./files-route.ts";
import { parseJson, readBody, sendError, sendJson } from "./http.ts";
import type { CallFilter, CallKind, LedgerBook, OpenCall, Outcome } from "./ledger.ts";
import type { ModelRoute } from "./model-route.ts";
import { getModel, listModels } from "./models.ts";
import { countPrompt } from "./prompt-cache.ts";

const MAXIMUM_BODY = 32 * 1024 * 1024;

export interface RoutesDeps {
  readonly ledger: LedgerBook;
  readonly files: FileStore;
  readonly answerModel: ModelRoute;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function createHandler({ ledger, files, answerModel }: RoutesDeps): Handler {
  async function answer(call: OpenCall, request: IncomingMessage, response: ServerResponse): Promise<Outcome> {
    const dialect = dialectOf(call, request.headers);
    const head: RequestHead = { path: call.path, query: queryOf(request), headers: request.headers };
    dialect.checkKey(head);
    const body = hasBody(call.method) ? await readBody(request, MAXIMUM_BODY) : Buffer.alloc(0);
    switch (`${call.method} ${call.kind}`) {
      case "POST messages":
      case "POST chat":
      case "POST responses":
      case "POST gemini":
      case "POST bedrock":
      case "POST vertex": {
        const json = parseJson(body);
        ledger.keepBody(call, json, body.length);
        return answerModel({ call, dialect, head, body: json }, response);
      }
      case "POST count_tokens": {
        const json = parseJson(body);
        ledger.keepBody(call, json, body.length);
        const isGemini = dialect === gemini;
        const prompt = isGemini ? parseCounted(json, head) : parsePrompt(json, call.headers["anthropic-version"] ?? "");
        call.model = prompt.model;
        const count = countPrompt(prompt);
        const details = [{ modality: "TEXT", tokenCount: count }];
        sendJson(response, isGemini ? { totalTokens: count, promptTokensDetails: details } : { input_tokens: count });
        return "answered";
      }
      case "GET models": {
        const id = decodeURIComponent(call.path.replace(/^\/v1(?:beta)?\/models\/?/, ""));
        if (dialect === chat) sendJson(response, openaiModels(id));
        else if (dialect === gemini) sendJson(response, geminiModels(id));
        else sendJson(response, id === "" ? listModels(head.query) : getModel(id));
        return "answered";
      }
      case "GET files":
      case "POST files":
      case "DELETE files": {
        const rest = decodeURIComponent(call.path.slice("/v1/files/".length));
        const contentType = request.headers["content-type"] ?? "";
        const { method } = call;
        await answerFiles(files, { method, rest, query: head.query, contentType, body }, response);
        return "answered";
      }
      default:
        throw call.kind === "other" ? notFound(call, dialect) : new ApiError(405);
    }
  }

  function fail(call: OpenCall, headers: IncomingHttpHeaders, error: unknown, response: ServerResponse): Outcome {
    if (response.destroyed) return "aborted";
    const known = error instanceof ApiError ? error : bug(error);
    call.error = known.message;
    if (response.headersSent) response.destroy();
    else sendError(response, known, dialectOf(call, headers));
    return known === error ? "rejected" : "faulted";
  }

  return async (request, response) => {
    const method = request.method ?? "GET";
    const path = pathOf(request.url ?? "/");
    if (path === "/api/hello") return void response.writeHead(200).end();
    if (path === "/simulator/ledger") return answerLedger(ledger, request, response);

    const call = ledger.open({ kind: kindOf(path), method, path, headers: request.headers });
    response.setHeader("request-id", call.id);
    const outcome = await answer(call, request, response).catch((error: unknown) =>
      fail(call, request.headers, error, response),
    );
    ledger.settle(call, outcome, response.headersSent ? response.statusCode : null);
  };
}

function answerLedger(ledger: LedgerBook, request: IncomingMessage, response: ServerResponse): void {
  if (request.method === "DELETE") ledger.clear();
  if (request.method === "DELETE") return void response.writeHead(204).end();
  if (request.method !== "GET") return void response.writeHead(405).end();
  const filter = Object.fromEntries(queryOf(request)) as CallFilter;
  sendJson(response, { totals: ledger.totals(), calls: ledger.calls(filter) });
}

function notFound({ method, path }: OpenCall, dialect: Dialect): ApiError {
  return new ApiError(404, dialect === chat ? { message: `Invalid URL (${method} ${path})` } : {});
}

/**
 * Returns the dialect of a call. On the routes of models and on unknown `/v1/` routes, a request without Anthropic's
 * headers gets an answer in OpenAI's format.
 */
function dialectOf({ kind, path }: OpenCall, headers: IncomingHttpHeaders): Dialect {
  if (kind === "chat" || kind === "responses") return kind === "chat" ? chat : responses;
  if (kind === "bedrock" || kind === "vertex") return kind === "bedrock" ? bedrock : vertex;
  if (kind === "gemini" || path.startsWith("/v1beta/")) return gemini;
  const isOpenAI = headers["anthropic-version"] === undefined && headers["x-api-key"] === undefined;
  return isOpenAI && (kind === "models" || (kind === "other" && path.startsWith("/v1/"))) ? chat : messages;
}

function kindOf(path: string): CallKind {
  if (path === "/v1/messages") return "messages";
  if (path === "/v1/chat/completions") return "chat";
  if (path === "/v1/responses") return "responses";
  if (/^\/v1beta\/models\/[^/]+:(generateContent|streamGenerateContent)$/.test(path)) return "gemini";
  if (/^\/v1beta\/models\/[^/]+:countTokens$/.test(path)) return "count_tokens";
  if (/^\/v1beta\/models(?:\/[^/:]+)?$/.test(path)) return "models";
  if (BEDROCK_PATH.test(path)) return "bedrock";
  if (VERTEX_PATH.test(path)) return "vertex";
  if (path === "/v1/messages/count_tokens") return "count_tokens";
  if (path === "/v1/models" || path.startsWith("/v1/models/")) return "models";
  if (path === "/v1/files" || path.startsWith("/v1/files/")) return "files";
  return "other";
}

function hasBody(method: string): boolean {
  return method === "POST" || method === "PUT" || method === "PATCH";
}

function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

function queryOf(request: IncomingMessage): URLSearchParams {
  return new URLSearchParams((request.url ?? "").slice(pathOf(request.url ?? "").length));
}

/** Reports a failure of the simulator in the answer, so that the author of a test sees it. */
function bug(error: unknown): ApiError {
  return new ApiError(500, {
    message: `The simulator failed: ${error instanceof Error ? error.stack : String(error)}`,
  });
}
