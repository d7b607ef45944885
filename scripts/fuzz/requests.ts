import { naughtyText } from "@skein/core/testing";
import type { Random } from "../kill/random.ts";
import type { Description, Operation, Parameter } from "./description.ts";
import type { KnownSession, KnownThings } from "./known-things.ts";
import { brokenText, mutated } from "./mutations.ts";
import { uuid, valueOf } from "./schema-values.ts";
import type { ServedKeys } from "./start-server.ts";

/** The sender of a request. */
type Sender = keyof ServedKeys | "nobody" | "stranger";

/** One generated request. */
export interface FuzzRequest {
  readonly index: number;
  /** Undefined if the description does not have the address of the request. */
  readonly operation: Operation | undefined;
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  readonly sender: Sender;
  /** Whether the path names a resource of another tenant, so that the answer must not be a success. */
  readonly foreign: boolean;
}

export interface RequestSource {
  readonly description: Description;
  readonly known: KnownThings;
  readonly foreign: KnownThings;
  readonly keys: ServedKeys;
}

const TYPES = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml"];
const NEARLY_JSON = ["application/json\ta", "application/json garbage", "application/jsonx", "application/json, x", ""];
const PLACES = ["-1", "abc", "999999999", "1e3", "0", "1", "9007199254740993", "x".repeat(301), "1,2"];
const ADDRESSES = ["/v1", "/v1/", "//", "/v1/../health", "/v1/%2e%2e/keys", "/v1/agents/", "/%zz", "/v1/agents/%00"];

/** Makes the request with this index. It depends only on the seed and on the earlier answers. */
export function makeRequest(index: number, random: Random, source: RequestSource): FuzzRequest {
  if (random.chance(0.02)) return strayRequest(index, random);
  const { description, keys } = source;
  const operation = random.pick(description.operations);
  const isForeign = keys.foreign !== undefined && operation.path.includes("{") && random.chance(0.05);
  const things = isForeign ? source.foreign : source.known;
  const session = things.sessions.length > 0 ? random.pick(things.sessions) : undefined;
  const path = address(operation, { random, things, session, spoil: isForeign ? 0 : 0.12 });
  const body = bodyOf(operation, { random, things: source.known, session });
  const sender = senderOf(keys, random, isForeign);
  return {
    index,
    operation,
    method: operation.method,
    path,
    body,
    sender,
    foreign: isForeign && session !== undefined,
    headers: headersOf(operation, { random, body }),
  };
}

function strayRequest(index: number, random: Random): FuzzRequest {
  const path = random.pick([...ADDRESSES, `/${encoded(random.pick(naughtyText))}`, `/v1/${"a/".repeat(500)}`]);
  const method = random.pick(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"]);
  return { index, operation: undefined, method, path, headers: {}, body: undefined, sender: "admin", foreign: false };
}

function senderOf(keys: ServedKeys, random: Random, isForeign: boolean): Sender {
  if (isForeign || random.chance(0.9)) return "admin";
  return random.pick(
    (["nobody", "stranger", "read", "run"] as const).filter((name) => name in keys || name[0] !== "r"),
  );
}

interface Making {
  readonly random: Random;
  readonly things: KnownThings;
  readonly session: KnownSession | undefined;
}

function address(operation: Operation, making: Making & { readonly spoil: number }): string {
  const { random, things, session, spoil } = making;
  const known = (name: string): unknown => things.pick(name, session, random);
  const value = (parameter: Parameter): string => {
    if (random.chance(spoil)) return random.chance(0.3) ? uuid(random) : badText(parameter, random);
    return textOf(valueOf(parameter.schema, parameter.name, { random, known }));
  };
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = operation.parameters.find((one) => one.in === "path" && one.name === name);
    return encoded(parameter ? value(parameter) : "x") || "%20";
  });
  const query = operation.parameters
    .filter((one) => one.in === "query" && (one.required || random.chance(0.35)))
    .map((one) => `${one.name}=${encoded(value(one))}`);
  if (random.chance(0.03))
    query.push(random.pick(["unknown=1", "limit=1&limit=2", "__proto__[a]=1", "&&=&", "cursor="]));
  return query.length > 0 ? `${path}?${query.join("&")}` : path;
}

function badText({ name }: Parameter, random: Random): string {
  if (name === "cursor" && random.chance(0.5))
    return Buffer.from(random.pick(["1", "-1", "999999999999999", "2026-11-15T00:00:00Z x", "'"])).toString(
      "base64url",
    );
  return random.pick([random.pick(naughtyText), ...PLACES, "1e9", "NaN", "-0", "1.5", ";drop", "../../etc", "a'--"]);
}

function bodyOf(operation: Operation, making: Making): string | Buffer | undefined {
  const { random, things, session } = making;
  const { body } = operation;
  if (!body) return random.chance(0.03) ? "{}" : undefined;
  if (!body.required && random.chance(0.2)) return undefined;
  const known = (name: string): unknown => things.pick(name, session, random);
  const file = operation.id === "importSession" && random.chance(0.8) ? things.exported() : undefined;
  const value = file ?? valueOf(body.schema, "", { random, known });
  if (random.chance(0.45)) return JSON.stringify(value);
  if (random.chance(0.9)) return JSON.stringify(mutated(value, random)) ?? "";
  return brokenText(JSON.stringify(value), random);
}

function headersOf(
  operation: Operation,
  { random, body }: { random: Random; body: FuzzRequest["body"] },
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (body !== undefined)
    headers["content-type"] = random.chance(0.95) ? "application/json" : random.pick([...TYPES, ...NEARLY_JSON]);
  if (operation.produces.includes("text/event-stream") && random.chance(0.5)) {
    headers["accept"] = "text/event-stream";
    if (random.chance(0.4)) headers["last-event-id"] = random.pick([...PLACES, "x".repeat(9000), ","]);
  } else if (random.chance(0.1)) headers["accept"] = random.pick(["application/problem+json", "text/html", "*/*", "x"]);
  if (operation.method === "POST" && random.chance(0.25))
    headers["idempotency-key"] = random.pick([`fuzz-${random.int(400)}`, "x".repeat(256), "\u00e9", " ", "a"]);
  if (operation.method === "PATCH" && random.chance(0.2)) headers["if-match"] = random.pick(['"1"', "*", '"x"', "1"]);
  if (operation.method === "GET" && random.chance(0.05)) headers["if-none-match"] = random.pick(['"1"', "*", "x"]);
  if (random.chance(0.02))
    headers["traceparent"] = random.pick(["00-0-0-00", `00-${"a".repeat(32)}-${"b".repeat(16)}-01`]);
  if (random.chance(0.01))
    headers["host"] = random.pick(["evil.example", "127.0.0.1.evil.example", "localhost:9@evil"]);
  if (random.chance(0.01)) headers["origin"] = random.pick(["https://evil.example", "null", "http://localhost:9999"]);
  if (random.chance(0.005)) headers["content-encoding"] = random.pick(["gzip", "gzip, gzip", "br"]);
  if (random.chance(0.003)) headers["x-padding"] = "x".repeat(20_000);
  return headers;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Percent-encodes a text. A lone surrogate becomes the replacement character. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
