/** Errors of servers that reject a request, in the formats of many servers. */
import type { ModelFailure } from "@skein/core";
import { expect, test } from "vitest";
import { rejectedMessages } from "../src/models/anthropic/failures.ts";
import { notStreamed, rejectedRequest, streamFailure } from "../src/models/failures-of-openai.ts";

const answer = (status: number, headers: Readonly<Record<string, string>> = {}) =>
  new Response(null, { status, headers });
const told = ({ failure: { code, message }, retryable, mostRetries }: ModelFailure) => ({
  code,
  message,
  retryable,
  mostRetries,
});

test.each([
  ["OpenAI's", 400, { error: { message: "Too long.", code: "invalid_value" } }, "Too long."],
  ["a text", 400, { error: "gemma does not support tools" }, "gemma does not support tools"],
  ["vLLM's", 400, { object: "error", message: "At most 1024.", type: "BadRequestError" }, "At most 1024."],
  ["FastAPI's", 404, { detail: "Not Found" }, "Not Found"],
] as const)("the error message of a server in %s format is passed on", (_, status, body, message) => {
  for (const rejected of [rejectedRequest, rejectedMessages])
    expect(rejected(answer(status), JSON.stringify(body)).failure).toMatchObject({ message, status });
});

test.each([rejectedRequest, rejectedMessages])(
  "%o shows an error in an unknown format unchanged, up to 300 characters",
  (rejected) => {
    const of = (status: number, text: string, headers?: Readonly<Record<string, string>>) =>
      rejected(answer(status, headers), text).failure.message;
    const detail = '{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}';
    expect(of(422, detail)).toBe(`The model's server answered with status 422: ${detail}`);
    expect(of(500, "x".repeat(1000))).toBe(`The model's server answered with status 500: ${"x".repeat(300)} …`);
    expect(of(502, "<html>", { "content-type": "text/html" })).toBe("The model's server answered with status 502.");
    const moved = of(302, "", { location: "https://other.example/v1?token=secret" });
    expect(moved).toContain("redirects to https://other.example/v1.");
    expect(moved).not.toContain("secret");
  },
);

test.each([
  [401, "authentication_error"],
  [402, "billing_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [429, "rate_limit_error"],
  [400, "some_type"],
] as const)("status %i of a gateway in front of the Messages API becomes the error %s", (status, code) => {
  const body = JSON.stringify({ error: { message: "No.", type: "some_type" } });
  expect(rejectedMessages(answer(status), body).failure).toEqual({ code, message: "No.", status });
});

test.each([
  [{ "retry-after-ms": "1500" }, 1500],
  [{ "retry-after": "2" }, 2000],
  [{ "retry-after": "tomorrow" }, undefined],
])("both APIs read the delay before a retry from %o", (headers, wait) => {
  for (const rejected of [rejectedRequest, rejectedMessages])
    expect(rejected(answer(429, headers as Record<string, string>), "").retryAfterMs).toBe(wait);
});

test("the delay before a retry may be given as a date", () => {
  const headers = { "retry-after": new Date(Date.now() + 60_000).toUTCString() };
  for (const rejected of [rejectedRequest, rejectedMessages]) {
    const { retryAfterMs = 0 } = rejected(answer(429, headers), "");
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  }
});

test("a used-up quota is not retried, although it has the status of a rate limit", () => {
  const error = { message: "You exceeded your quota.", type: "insufficient_quota" };
  const rejected = rejectedRequest(answer(429), JSON.stringify({ error }));
  expect(told(rejected)).toMatchObject({ code: "billing_error", retryable: false });
});

test("an error that arrives with status 200 has the server's message, and is retried once at most", () => {
  const error = { message: "model not loaded", code: 404 };
  expect(told(notStreamed(JSON.stringify({ error })))).toEqual({
    code: "not_found_error",
    message: "model not loaded",
    retryable: false,
    mostRetries: 1,
  });
});

test("a complete answer in place of a stream is not requested again, because it may have been charged", () => {
  const whole = JSON.stringify({ choices: [{ message: { content: "Hello." } }] });
  expect(told(notStreamed(whole))).toMatchObject({
    retryable: false,
    message: expect.stringContaining("one JSON document"),
  });
  expect(told(notStreamed("OK"))).toMatchObject({
    retryable: true,
    mostRetries: 1,
    message: expect.stringContaining('"OK"'),
  });
});

test.each([
  [429, { code: "rate_limit_error", retryable: true }],
  ["400", { code: "400", retryable: false }],
  ["server_error", { code: "server_error", retryable: true }],
] as const)("an error in the stream with the code %s is treated like an answer with this status", (code, expected) => {
  expect(told(streamFailure({ code, message: "No." }))).toMatchObject(expected);
});
