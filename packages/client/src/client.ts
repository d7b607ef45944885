import {
  type ApiErrorCode,
  ErrorBody,
  ROUTES,
  type Route,
  type RouteInput,
  type RouteName,
  type RouteOutput,
} from "@skein/protocol";

export interface ClientOptions {
  /** Where the server listens, for example `http://127.0.0.1:7433`. */
  readonly url: string;
  readonly apiKey?: string;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

type Given<Name extends RouteName> = RouteInput<Name>;
/** The names of the parts of a route's input: those of `params`, `query` and `body` that the route has. */
type Part<Name extends RouteName> = {
  [Key in keyof Given<Name>]: Given<Name>[Key] extends undefined ? never : Key;
}[keyof Given<Name>];
type Optional<Name extends RouteName> = {
  [Key in Part<Name>]: Partial<Given<Name>[Key]> extends Given<Name>[Key] ? Key : never;
}[Part<Name>];

/** The input of a call to a route. */
export type CallInput<Name extends RouteName> = {
  readonly [Key in Exclude<Part<Name>, Optional<Name>>]: Given<Name>[Key];
} & { readonly [Key in Optional<Name>]?: Given<Name>[Key] } & {
  /** A POST that is sent again with the same idempotency key is processed only once. */
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
};

/** The function that calls a route. If the route has no required input, the argument is optional. */
export type ClientCall<Name extends RouteName> =
  Partial<CallInput<Name>> extends CallInput<Name>
    ? (input?: CallInput<Name>) => Promise<RouteOutput<Name>>
    : (input: CallInput<Name>) => Promise<RouteOutput<Name>>;

/** A function for each route of the server. */
export type Calls = { readonly [Name in RouteName]: ClientCall<Name> };

/** The server answered with an error. */
export class SkeinError extends Error {
  readonly code: ApiErrorCode;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(status: number, body: ErrorBody["error"]) {
    super(body.message);
    this.name = "SkeinError";
    this.code = body.code;
    this.status = status;
    this.requestId = body.request_id;
    this.details = body.details;
  }
}

interface AnyInput {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
}

/** Makes a function for each route in `ROUTES`, the table that the server uses too. */
export function createCalls(options: ClientOptions): Calls {
  const names = Object.keys(ROUTES) as RouteName[];
  const calls = names.map((name) => [name, (input: AnyInput = {}) => call(ROUTES[name], input, options)]);
  return Object.fromEntries(calls) as Calls;
}

async function call(route: Route, input: AnyInput, options: ClientOptions): Promise<unknown> {
  const { idempotencyKey, ifMatch, signal, body } = input;
  const response = await (options.fetch ?? fetch)(addressOf(route, input, options.url), {
    method: route.method,
    headers: {
      ...keyHeader(options),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  if (!response.ok) throw await errorOf(response);
  if (response.status === 204) return undefined;
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  if (isJson) return response.json();
  return response.headers.get("content-type")?.startsWith("text/") ? response.text() : response.arrayBuffer();
}

function addressOf(route: Route, { params = {}, query = {} }: AnyInput, url: string): string {
  // A session is found by its id alone. If `agent_id` is given, the server also checks the session's agent.
  const underAgent = route.underAgent && params["agent_id"] !== undefined;
  const pattern = underAgent ? route.path.replace("/v1/", "/v1/agents/{agent_id}/") : route.path;
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const pairs = given.flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)]));
  const search = new URLSearchParams(pairs).toString();
  return `${url.replace(/\/$/, "")}${path}${search === "" ? "" : `?${search}`}`;
}

export function keyHeader({ apiKey }: ClientOptions): Record<string, string> {
  return apiKey === undefined ? {} : { "x-api-key": apiKey };
}

/** Returns the error in a server's response. The response may also come from a proxy. */
export async function errorOf(response: Response): Promise<SkeinError> {
  const text = await response.text();
  const parsed = ErrorBody.safeParse(jsonOf(text));
  if (parsed.success) return new SkeinError(response.status, parsed.data.error);
  return new SkeinError(response.status, {
    code: "internal",
    message: `The server answered ${response.status} without an error of Skein. Check that this is the address of a Skein server.`,
    request_id: response.headers.get("x-request-id") ?? "",
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
