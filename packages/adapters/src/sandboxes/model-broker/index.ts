import { randomBytes, timingSafeEqual } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { isKnownError } from "@skein/protocol";
import { forwardRequest } from "./forward-request.ts";
import { type ProviderRules, providerRefusal } from "./provider-refusal.ts";
import { type BrokeredModel, type HttpUpstream, type Upstream, createHttpUpstream } from "./upstream.ts";
import type { ReportedUsage } from "./usage-of-answer.ts";

export { type BrokeredModel, type Upstream, createHttpUpstream } from "./upstream.ts";

/**
 * Connects sandboxes to the model. The real key stays in this process. A sandboxed program gets a pass: a socket and a
 * token. The token is valid only for the models of its session, and only while the pass is open.
 *
 * The broker reads and checks requests of the Messages API, and forwards only checked content. It does not change
 * answers, except the name of a model with a separate address.
 */
export interface ModelBroker {
  /** Makes a socket and a token for a program. They work only after the pass is opened. */
  issue(rules: PassRules): Promise<ModelPass>;
  /** Ends every pass. */
  close(): Promise<void>;
}

export interface PassRules extends ProviderRules {
  /** Returns a sentence if this model may not be called now. Called before each call. */
  readonly refusal?: (model: string) => string | undefined;
  /**
   * Returns how to call a model with a separate address and key. Returns undefined for a model of the broker's server.
   * Called before each call. An error rejects the call.
   */
  readonly reach?: (model: string) => Promise<BrokeredModel | undefined>;
  /** Handles the beginning of a streamed answer. `maxTokens` is the token limit of the request. */
  readonly onBegun?: (id: string, maxTokens: number) => void;
  /** Gets the usage of a call. The usage comes from the model, or is estimated if the call was cut off. */
  readonly onUsage?: (model: string, usage: ReportedUsage, own: BrokeredModel | undefined) => void;
  /**
   * Reserves money for a call. If it returns a sentence, the call is rejected. If it returns an object, `settle` later
   * gets the usage.
   */
  readonly pay?: (call: BrokeredCall) => Promise<PaidFor | string>;
}

/** A model call of a sandboxed program, before it is forwarded. */
export interface BrokeredCall {
  readonly model: string;
  readonly maxTokens: number;
  readonly bytes: number;
  /** The model, if it has a separate address and key. */
  readonly own: BrokeredModel | undefined;
}

/** Gets the usage once, at the end of the call. The usage is undefined if the model did not answer. */
export interface PaidFor {
  settle(usage: ReportedUsage | undefined): void;
}

export interface ModelPass {
  /** The path of the socket outside of the sandbox. */
  readonly socket: string;
  readonly token: string;
  /** Allows calls from now on. */
  open(): void;
  /** Rejects calls from now on, and aborts calls in progress. */
  shut(): void;
  /** Aborts calls in progress, and removes the socket. */
  close(): Promise<void>;
}

const MAXIMUM_BODY_BYTES = 48 * 1024 * 1024;
const TOO_LARGE = `A request may have at most ${MAXIMUM_BODY_BYTES} bytes.`;
const ROUTES = new Set(["/v1/messages", "/v1/messages/count_tokens"]);

/** Creates a broker. `server` answers calls of models without a separate address. */
export function createModelBroker(server: HttpUpstream): ModelBroker {
  const upstream = createHttpUpstream(server);
  // The sockets have a separate folder, because the path of the data folder may be too long for a socket (108 bytes).
  let folder: string | undefined;
  let issued = 0;
  const passes = new Set<ModelPass>();

  return {
    async issue(rules) {
      folder ??= mkdtempSync(join(tmpdir(), "skein-broker-"));
      issued += 1;
      const pass = await createPass(join(folder, `${issued}.sock`), rules, upstream);
      passes.add(pass);
      return { ...pass, close: () => (passes.delete(pass), pass.close()) };
    },
    async close() {
      await Promise.all([...passes].map((pass) => pass.close()));
      passes.clear();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      folder = undefined;
    },
  };
}

async function createPass(socket: string, rules: PassRules, server: Upstream): Promise<ModelPass> {
  const token = `skein-pass-${randomBytes(24).toString("base64url")}`;
  let session: AbortController | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isToken(request, token)) return refuse(response, 401, "authentication_error", "This token is not valid here.");
    const { pathname, search } = new URL(request.url ?? "/", "http://broker");
    if (request.method !== "POST" || !ROUTES.has(pathname))
      return refuse(response, 404, "not_found_error", "A sandboxed program can only call /v1/messages.");
    if (!session)
      return refuse(
        response,
        403,
        "permission_error",
        "The run of this session is over: the model cannot be called now.",
      );
    const body = await bodyOf(request);
    if (body === undefined) return refuse(response, 413, "request_too_large", TOO_LARGE);
    const costs = pathname === "/v1/messages";
    const call = callIn(body, costs);
    if (typeof call === "string") return refuse(response, 400, "invalid_request_error", call);
    const { model, max_tokens: maxTokens = 0 } = call;
    const refusal = rules.refusal?.(model) ?? providerRefusal(call, rules);
    if (refusal !== undefined) return refuse(response, 403, "permission_error", refusal);
    const { signal } = session;
    const own = await reached(model);
    if (typeof own === "string") return refuse(response, 403, "permission_error", own);
    const paid = costs ? await rules.pay?.({ model, maxTokens, bytes: body.length, own }) : undefined;
    if (typeof paid === "string") return refuse(response, 403, "permission_error", paid);
    let usage: ReportedUsage | undefined;
    const onUsage = (told: ReportedUsage): void => {
      usage = told;
      rules.onUsage?.(model, told, own);
    };
    const tap = { onUsage, onBegun: (id: string): void => rules.onBegun?.(id, maxTokens) };
    const asked = { bytes: body.length, maxTokens, isStream: call["stream"] === true };
    const forwarded = { request, response, path: `${pathname}${search}`, asked, signal, ...tap };
    await (
      own
        ? forwardRequest(
            { ...forwarded, body: checked({ ...call, model: own.modelName }), nameInAnswer: model },
            own.upstream,
          )
        : forwardRequest({ ...forwarded, body: checked(call) }, server)
    ).finally(() => paid?.settle(usage));
  }

  /**
   * Returns a model with a separate address. Returns undefined for other models, or a sentence if the model cannot be
   * used.
   */
  async function reached(model: string): Promise<BrokeredModel | string | undefined> {
    try {
      return await rules.reach?.(model);
    } catch (error) {
      if (!isKnownError(error)) throw error;
      return error.message;
    }
  }

  const listener = createServer((request, response) => {
    answer(request, response).catch(() => {
      // This happens if the program has closed the connection or sent an incomplete request.
      response.destroy();
    });
  });
  await listen(listener, socket);

  return {
    socket,
    token,
    open() {
      session ??= new AbortController();
    },
    shut() {
      session?.abort();
      session = undefined;
    },
    async close() {
      session?.abort();
      session = undefined;
      listener.closeAllConnections();
      await new Promise<void>((resolve) => void listener.close(() => resolve()));
    },
  };
}

async function listen(server: Server, socket: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
}

function isToken({ headers }: IncomingMessage, token: string): boolean {
  const given = headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer /, "");
  if (typeof given !== "string" || given.length !== token.length) return false;
  return timingSafeEqual(Buffer.from(given), Buffer.from(token));
}

/** Reads the body of a request. Returns undefined if the body is too large. */
async function bodyOf(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > MAXIMUM_BODY_BYTES) return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAXIMUM_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const Call = z.looseObject({ model: z.string(), max_tokens: z.int().min(0).optional() });

/**
 * Reads the call in a body, or returns its problem as a sentence. If the call costs money, its answer must have a
 * limit.
 */
function callIn(body: Uint8Array, costs: boolean): z.infer<typeof Call> | string {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(body));
  } catch {
    return "The request is not JSON.";
  }
  const { data: call, error } = Call.safeParse(json);
  if (!call)
    return error.issues.some(({ path }) => path[0] === "max_tokens")
      ? "max_tokens: Expected a whole number of tokens."
      : "The request names no model.";
  return costs && call.max_tokens === undefined ? "max_tokens: Expected a whole number of tokens." : call;
}

/**
 * Returns the checked call as JSON. The original bytes are not forwarded. If a JSON key occurs twice in them, the
 * model's server could use the value that was not checked.
 */
function checked(call: z.infer<typeof Call>): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(call));
}

/** Sends an error in the format of the Messages API. */
function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { "content-type": "application/json", "x-should-retry": "false" });
  response.end(JSON.stringify({ type: "error", error: { type, message } }));
}
