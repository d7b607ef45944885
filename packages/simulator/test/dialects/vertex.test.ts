import { AnthropicVertex } from "@anthropic-ai/vertex-sdk";
import { expect, test } from "vitest";
import { EVERYTHING, play, rig } from "./clients.ts";

type AuthClient = NonNullable<NonNullable<ConstructorParameters<typeof AnthropicVertex>[0]>["authClient"]>;

const PATH = "/v1/projects/p-1/locations/europe-west1/publishers/anthropic/models/claude-sonnet-5-5";

/** The unmodified client with an invented token. Without this token, the client would ask Google for a token. */
async function vertex() {
  const { simulator } = await rig();
  const authClient = { getRequestHeaders: async () => new Headers({ authorization: "Bearer invented" }) };
  const client = new AnthropicVertex({
    baseURL: `${simulator.url}/v1`,
    region: "europe-west1",
    projectId: "p-1",
    authClient: authClient as unknown as AuthClient,
    maxRetries: 0,
    logLevel: "off",
  });
  const ask = (content: string) => ({
    model: "claude-sonnet-5-5",
    max_tokens: 4000,
    messages: [{ role: "user" as const, content }],
    tools: ["read", "list"].map((name) => ({ name, input_schema: { type: "object" as const } })),
  });
  return { simulator, client, ask };
}

test("the client of Vertex AI reads the same answer with and without streaming", async () => {
  const { simulator, client, ask } = await vertex();
  const whole = await client.messages.create(ask(play(EVERYTHING)));
  const streamed = await client.messages.stream(ask(play(EVERYTHING))).finalMessage();
  const said = ({ content }: typeof whole) => content.map((block) => ({ ...block, id: "", signature: "" }));
  expect(said(streamed)).toEqual(said(whole));
  expect(simulator.ledger.calls().map(({ kind, path }) => [kind, path])).toEqual([
    ["vertex", `${PATH}:rawPredict`],
    ["vertex", `${PATH}:streamRawPredict`],
  ]);
});

test("the client of Vertex AI gets an error of Google for an exhausted quota, and an error of Anthropic for a bad request", async () => {
  const { client, ask } = await vertex();
  const asking = (step: object) => client.messages.create(ask(play(step))).catch((error: unknown) => error);
  expect(await asking({ error: { status: 429 } })).toMatchObject({
    status: 429,
    error: { error: { status: "RESOURCE_EXHAUSTED" } },
  });
  expect(await asking({ error: { status: 400 } })).toMatchObject({
    status: 400,
    error: { error: { type: "invalid_request_error" } },
  });
});
