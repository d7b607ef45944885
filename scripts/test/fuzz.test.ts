import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { fuzz } from "../fuzz.ts";
import { runCampaign } from "../fuzz/campaign.ts";
import { problemsOf } from "../fuzz/check-answer.ts";
import { describe as describeServer } from "../fuzz/description.ts";
import type { FuzzRequest } from "../fuzz/requests.ts";
import type { FuzzAnswer } from "../fuzz/send.ts";

/** A short run: `npm run fuzz` sends 50,000 requests. */
test(
  "every generated request gets an answer in time that matches its schema and is not a 5xx",
  { timeout: 60_000 },
  async () => {
    const { failures, sent, succeeded, complaints } = await fuzz({ requests: 1200, seed: 7 });
    expect(failures).toEqual([]);
    expect(complaints).toBe("");
    expect(sent).toBeGreaterThanOrEqual(1200);
    expect(succeeded.size).toBeGreaterThan(30);
  },
);

const thing = { type: "object", properties: { id: { type: "string" } }, required: ["id"], additionalProperties: false };
const error = { type: "object", properties: { error: { type: "object" } }, required: ["error"] };

/** Starts a server with one route that gives this answer. */
async function described(answer: unknown = { id: "a" }, status = 200): Promise<string> {
  const operation = {
    operationId: "getThing",
    description: "Needs a key with the scope `admin`.",
    parameters: [],
    responses: { 200: { content: { "application/json": { schema: thing } } } },
  };
  const openApi = { paths: { "/thing": { get: operation } }, components: { schemas: { Error: error } } };
  const server = createServer((request, response) => {
    const isDescription = request.url === "/openapi.json";
    response.writeHead(isDescription ? 200 : status, { "content-type": "application/json" });
    response.end(JSON.stringify(isDescription ? openApi : answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const ok: FuzzAnswer = { status: 200, headers: { "content-type": "application/json" }, text: '{"id":"a"}', ms: 1 };
const headers = { "content-type": "application/json", "x-request-id": "r" };
const refusal = (code: string, message = "No."): string =>
  JSON.stringify({ error: { code, message, request_id: "r" } });

test.each<[string, Partial<FuzzAnswer>, Partial<FuzzRequest>, RegExp | undefined]>([
  ["no problem in an answer that matches the description", {}, {}, undefined],
  ["a 5xx", { status: 500 }, {}, /answered 500/],
  ["a hang", { failure: "hang" }, {}, /within 5 s/],
  ["a broken connection", { failure: "broken" }, {}, /broke/],
  ["a key that is not in the schema", { text: '{"id":"a","secret":1}' }, {}, /outside its schema/],
  ["a wrong type", { text: '{"id":1}' }, {}, /outside its schema/],
  ["an answer that is not JSON", { text: "<html>" }, {}, /outside its schema/],
  ["a status that is not described", { status: 201 }, {}, /the description has 200/],
  ["a success for something of another tenant", {}, { foreign: true }, /another tenant/],
  ["a success for a caller without the scope", {}, { sender: "read" }, /without the scope/],
  ["a success for a caller without a key", {}, { sender: "nobody" }, /without the scope/],
  ["no problem in an error in our format", { status: 404, text: refusal("not_found"), headers }, {}, undefined],
  ["an error in another format", { status: 404, text: '{"message":"no"}' }, {}, /schema of errors/],
  ["an error code with a wrong status", { status: 404, text: refusal("invalid"), headers }, {}, /404 with the code/],
  [
    "an error with a stack trace",
    { status: 404, text: refusal("not_found", "x\n at f (/a/b.ts:1:2)"), headers },
    {},
    /no answer may contain/,
  ],
])("the fuzzer detects %s", async (_, answer, request, expected) => {
  const description = await describeServer(await described(), "key");
  const [operation] = description.operations;
  const sent: FuzzRequest = {
    index: 0,
    operation,
    method: "GET",
    path: "/thing",
    headers: {},
    body: undefined,
    sender: "admin",
    foreign: false,
    ...request,
  };
  const problems = problemsOf(sent, { ...ok, ...answer }, description).join("\n");
  if (expected) expect(problems).toMatch(expected);
  else expect(problems).toBe("");
});

test("the campaign fails if the server cannot create the resources for the requests", async () => {
  const url = await described({ error: {} }, 500);
  await expect(runCampaign({ url, keys: { admin: "key" }, requests: 5, seed: 1 })).rejects.toThrow(/answered 500/);
});
