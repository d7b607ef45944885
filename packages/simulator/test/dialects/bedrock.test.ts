import { AnthropicBedrock } from "@anthropic-ai/bedrock-sdk";
import { expect, test } from "vitest";
import { EVERYTHING, play, rig } from "./clients.ts";

const MODEL = "eu.anthropic.claude-sonnet-5-5";

/** The unmodified client with invented credentials. */
async function bedrock() {
  const { simulator } = await rig();
  const client = new AnthropicBedrock({
    baseURL: simulator.url,
    awsRegion: "eu-west-1",
    apiKey: null,
    awsAccessKey: "AKIAIOSFODNN7EXAMPLE",
    awsSecretKey: "invented",
    maxRetries: 0,
    logLevel: "off",
  });
  const ask = (content: string) => ({
    model: MODEL,
    max_tokens: 4000,
    thinking: { type: "enabled" as const, budget_tokens: 1024 },
    messages: [{ role: "user" as const, content }],
    tools: ["read", "list"].map((name) => ({ name, input_schema: { type: "object" as const } })),
  });
  return { simulator, client, ask };
}

test("the client of Bedrock reads the same answer with and without streaming", async () => {
  const { simulator, client, ask } = await bedrock();
  const whole = await client.messages.create(ask(play(EVERYTHING)));
  const streamed = await client.messages.stream(ask(play(EVERYTHING))).finalMessage();
  const said = ({ content }: typeof whole) => content.map((block) => ({ ...block, id: "", signature: "" }));
  expect(said(streamed)).toEqual(said(whole));
  expect(whole.content.map(({ type }) => type)).toEqual(["thinking", "text", "tool_use", "tool_use"]);
  expect(simulator.ledger.calls().map(({ kind, path, model }) => [kind, path, model])).toEqual([
    ["bedrock", `/model/${MODEL}/invoke`, MODEL],
    ["bedrock", `/model/${MODEL}/invoke-with-response-stream`, MODEL],
  ]);
});

test("the client of Bedrock gets AWS's errors, before an answer and in the middle of an answer", async () => {
  const { client, ask } = await bedrock();
  const asking = (step: object) =>
    client.messages
      .stream(ask(play(step)))
      .finalMessage()
      .catch((error: unknown) => error);
  expect(await asking({ error: { status: 429, message: "Too many requests" } })).toMatchObject({
    status: 429,
    error: { message: "Too many requests" },
  });
  const broken = await asking({ ...EVERYTHING, streamError: { afterChunks: 2, type: "overloaded_error" } });
  expect(String(broken)).toContain("serviceUnavailableException");
});

test("Bedrock rejects a request without a signature, and a request whose body names the model", async () => {
  const { simulator } = await bedrock();
  const post = (headers: Record<string, string>, body: object) =>
    fetch(`${simulator.url}/model/${MODEL}/invoke`, { method: "POST", headers, body: JSON.stringify(body) });
  expect((await post({}, {})).status).toBe(403);
  const named = await post({ authorization: "Bearer x" }, { anthropic_version: "bedrock-2023-05-31", model: MODEL });
  expect([named.status, await named.json()]).toEqual([400, { message: "model: Extra inputs are not permitted" }]);
});
