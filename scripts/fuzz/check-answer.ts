import { ApiEvent, ERROR_STATUS, type ErrorBody } from "@skein/protocol";
import type { z } from "zod";
import type { Description } from "./description.ts";
import type { FuzzRequest } from "./requests.ts";
import type { FuzzAnswer } from "./send.ts";

/** Traces of code (paths, stacks) that no answer may contain. */
const LEAKS = [/node_modules|node:internal|\bpackages\/\w+\/(src|dist)/, /\.[jt]s:\d+/, /\n\s+at /, /SQLITE_|SQLSTATE/];
const RANK = { read: 1, run: 2, sql: 3, admin: 3 };

/** Returns the problems of an answer as sentences. The list is empty if the answer matches the description. */
export function problemsOf(request: FuzzRequest, answer: FuzzAnswer, description: Description): readonly string[] {
  if (answer.failure === "hang") return ["no answer within 5 s"];
  if (answer.failure === "broken") return ["the connection broke before the answer was complete"];
  const { status } = answer;
  if (status === 0) return [];
  if (status >= 500 && !isWithout(answer)) return [`answered ${status}`];
  if (status < 300) return [...mayNot(request, status), ...successProblems(request, answer)];
  if (status === 304) return answer.text === "" ? [] : ["304 with a body"];
  return errorProblems(request, answer, description);
}

/**
 * Whether the response is a 503 with the code `SERVICE_UNAVAILABLE`, for example because the server lacks the requested
 * feature. Such a response is not a failure.
 */
function isWithout({ status, text }: FuzzAnswer): boolean {
  // The body is one of our errors or, if requested, an RFC 9457 problem.
  const body = json(text) as { readonly error?: { readonly code?: string }; readonly code?: string } | undefined;
  return status === 503 && (body?.error?.code ?? body?.code) === "SERVICE_UNAVAILABLE";
}

/** Reports a success that the sender of the request had no right to. */
function mayNot({ foreign, operation, sender }: FuzzRequest, status: number): readonly string[] {
  if (foreign) return [`answered ${status} for something of another tenant`];
  const scope = operation?.scope;
  if (scope === undefined || sender === "admin" || sender === "foreign") return [];
  const rank = sender === "read" || sender === "run" ? RANK[sender] : 0;
  return rank < RANK[scope] ? [`answered ${status} to a caller without the scope "${scope}"`] : [];
}

function successProblems({ operation, method }: FuzzRequest, answer: FuzzAnswer): readonly string[] {
  const { status, headers, text } = answer;
  if (!operation)
    return method === "OPTIONS" || method === "HEAD"
      ? []
      : [`answered ${status}, but the description has no such operation`];
  if (status !== operation.status) return [`answered ${status}, but the description has ${operation.status}`];
  const type = String(headers["content-type"] ?? "");
  if (type.startsWith("text/event-stream")) return streamProblems(text, operation.stream);
  if (!operation.response) {
    if (status === 204) return text === "" ? [] : ["204 with a body"];
    const [plain = ""] = type.split(";");
    // A file may have any content type.
    return operation.produces.some((one) => one === plain || one === "application/octet-stream")
      ? []
      : [`content of the type "${type}", but the description has ${operation.produces.join(" or ")}`];
  }
  if (operation.produces.includes(type.split(";")[0] ?? "")) return [];
  if (!type.startsWith("application/json")) return [`content of the type "${type}", but the description has JSON`];
  const parsed = operation.response.safeParse(json(text));
  return parsed.success ? [] : [`outside its schema: ${JSON.stringify(parsed.error.issues.slice(0, 3))}`];
}

function errorProblems({ method, headers: asked }: FuzzRequest, answer: FuzzAnswer, description: Description) {
  const { status, headers, text } = answer;
  if (method === "HEAD") return [];
  const leak = LEAKS.find((pattern) => pattern.test(text));
  if (leak) return [`contains text that no answer may contain (${leak}): ${text.slice(0, 300)}`];
  const type = String(headers["content-type"] ?? "");
  const body = json(text) as (ErrorBody & { status?: number; code?: string }) | undefined;
  if (type.startsWith("application/problem+json")) {
    const fits = asked["accept"]?.includes("problem+json") && body?.status === status && body.code !== undefined;
    return fits ? [] : [`a problem that does not match its schema: ${text.slice(0, 300)}`];
  }
  if (!type.startsWith("application/json") || !description.error.safeParse(body).success)
    return [`answered ${status} outside the schema of errors: ${type} ${text.slice(0, 300)}`];
  if (!body || ERROR_STATUS[body.error.code] !== status) return [`${status} with the code ${body?.error.code}`];
  return body.error.request_id === headers["x-request-id"] ? [] : ["request_id differs from the header"];
}

/** Checks that each frame of a stream can be parsed, and that sequences only increase. */
function streamProblems(text: string, described: z.ZodType | undefined): readonly string[] {
  let last = 0;
  const whole = text.split("\n\n").slice(0, -1);
  for (const frame of whole) {
    const field = (name: string): string | undefined =>
      frame
        .split("\n")
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2);
    const [id, data] = [field("id"), field("data")];
    // If a run is streamed as text, the frames have no name. Such frames are not checked.
    if (data === undefined || field("event") === undefined) continue;
    const value = json(data);
    if (value === undefined) return [`a frame that is not JSON: ${frame.slice(0, 200)}`];
    if (described && !described.safeParse({ event: field("event"), data: value }).success)
      return [`a frame outside its schema: ${frame.slice(0, 200)}`];
    if (id === undefined) continue;
    if (!described && !ApiEvent.safeParse(value).success) return [`a frame outside its schema: ${frame.slice(0, 200)}`];
    const place = Number(id.split(":").at(-1));
    // The cursors in the stream over all sessions are not numbers, so they cannot be compared.
    if (Number.isNaN(place)) continue;
    if (!(place > last)) return [`the frame ${id} came after ${last}`];
    last = place;
  }
  return [];
}

export function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
