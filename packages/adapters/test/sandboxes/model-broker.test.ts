import { existsSync } from "node:fs";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { createBedrockSender } from "@skein/adapters/models/bedrock";
import { createCloudUpstream } from "@skein/adapters/models/cloud-upstream";
import { KnownError } from "@skein/protocol";
import { type Simulator, createSimulator, script } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  type ModelPass,
  type PassRules,
  createHttpUpstream,
  createModelBroker,
} from "../../src/sandboxes/model-broker/index.ts";
import type { ReportedUsage } from "../../src/sandboxes/model-broker/usage-of-answer.ts";

const MODEL = "claude-opus-5-5";
let simulator: Simulator;
let broker: ReturnType<typeof createModelBroker>;
beforeAll(async () => {
  simulator = await createSimulator();
  broker = createModelBroker({ baseUrl: simulator.url, credentials: { "x-api-key": "the real key" } });
});
afterAll(async () => {
  await broker.close();
  await simulator.close();
});

async function issue(rules: PassRules = {}): Promise<ModelPass> {
  const pass = await broker.issue(rules);
  onTestFinished(() => pass.close());
  return pass;
}

interface Asked {
  readonly status: number;
  readonly body: string;
}

/** A call as a sandboxed program makes it. */
async function ask(
  { socket, token }: ModelPass,
  {
    prompt = "Hello",
    path = "/v1/messages?beta=true",
    model = MODEL,
    method = "POST",
    stream = false,
    key = token,
  } = {},
): Promise<Asked> {
  const body = JSON.stringify({ model, max_tokens: 100, stream, messages: [{ role: "user", content: prompt }] });
  const headers = { "x-api-key": key, "content-type": "application/json", "anthropic-version": "2023-06-01" };
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: socket, path, method, headers }, (response) => {
      text(response).then((read) => resolve({ status: response.statusCode ?? 0, body: read }), reject);
    });
    call.on("error", reject).end(body);
  });
}

test.each([false, true])(
  "a call goes to the model with the real key, and its usage is reported (stream: %s)",
  async (stream) => {
    const told: [string, ReportedUsage][] = [];
    const pass = await issue({ onUsage: (model, usage) => told.push([model, usage]) });
    pass.open();
    const { status, body } = await ask(pass, { stream, prompt: script([{ text: "a fine answer" }]) });
    expect([status, body.includes("fine answer")]).toEqual([200, true]);
    const usage = simulator.ledger.calls().at(-1)?.usage;
    expect(told).toEqual([[MODEL, expect.objectContaining({ output_tokens: usage?.output_tokens }) as ReportedUsage]]);
    expect(pass.token).not.toContain("real");
  },
);

test("the beginning of a streamed answer is reported with its token limit", async () => {
  const begun: [string, number][] = [];
  const pass = await issue({ onBegun: (...told) => void begun.push(told) });
  pass.open();
  const { body } = await ask(pass, { stream: true });
  expect(begun).toEqual([[/"id":"(msg_[^"]+)"/.exec(body)?.[1], 100]]);
  await ask(pass, { stream: false });
  expect(begun).toHaveLength(1);
});

test.each([
  ["a token of another session", { key: "skein-pass-other" }, 401, "not valid here"],
  ["the real key", { key: "the real key" }, 401, "not valid here"],
  ["another route", { path: "/v1/files" }, 404, "only call /v1/messages"],
  ["a path that climbs", { path: "/v1/messages/../files" }, 404, "only call /v1/messages"],
  ["another method", { method: "DELETE" }, 404, "only call /v1/messages"],
  ["a model that its rules refuse", { model: "claude-expensive" }, 403, "may not call claude-expensive"],
])("%s is refused, and nothing is sent", async (_, change, status, message) => {
  const pass = await issue({
    refusal: (model) => (model === MODEL ? undefined : `This session may not call ${model}.`),
  });
  pass.open();
  const before = simulator.ledger.calls().length;
  const answer = await ask(pass, change);
  expect([answer.status, answer.body]).toEqual([status, expect.stringContaining(message)]);
  expect(simulator.ledger.calls().length).toBe(before);
});

test("a pass works only while it is open, and a call under way is cut off when it is shut", async () => {
  const pass = await issue();
  expect(await ask(pass)).toMatchObject({
    status: 403,
    body: expect.stringContaining("run of this session is over") as string,
  });
  pass.open();
  expect((await ask(pass)).status).toBe(200);
  const silent = ask(pass, { stream: true, prompt: script([{ text: "slow", hang: true }]) }).catch(() => "cut");
  await expect.poll(() => simulator.ledger.calls({ outcome: "open" }).length, { timeout: 5000 }).toBe(1);
  pass.shut();
  expect(await Promise.race([silent, new Promise((resolve) => setTimeout(resolve, 5000, "still open"))])).not.toBe(
    "still open",
  );
  expect((await ask(pass)).status).toBe(403);
});

test("a model that cannot be reached is an error that the client understands", async () => {
  const closed = await createSimulator();
  await closed.close();
  const away = createModelBroker({ baseUrl: closed.url, credentials: {} });
  onTestFinished(() => away.close());
  const pass = await away.issue({});
  pass.open();
  expect(await ask(pass)).toMatchObject({
    status: 502,
    body: expect.stringContaining("cannot be reached: ECONNREFUSED") as string,
  });
});

test("the socket is gone with its pass", async () => {
  const pass = await broker.issue({});
  expect(existsSync(pass.socket)).toBe(true);
  await pass.close();
  expect(existsSync(pass.socket)).toBe(false);
});

describe("a model with an address of its own", () => {
  const name = "home/größe";
  let elsewhere: Simulator;
  let pass: ModelPass;
  beforeAll(async () => {
    elsewhere = await createSimulator();
    const credentials = { "x-api-key": "another key" };
    const send = createBedrockSender({ region: "eu-west-1", key: "a key of Bedrock", url: elsewhere.url });
    pass = await broker.issue({
      async reach(model) {
        if (model === "openai/gpt-6") throw new KnownError("invalid", "It speaks another API.");
        if (model === name)
          return { modelName: "qwen3:8b", upstream: createHttpUpstream({ baseUrl: elsewhere.url, credentials }) };
        return model === "bedrock/opus"
          ? { modelName: "eu.anthropic.opus", upstream: createCloudUpstream(send) }
          : undefined;
      },
    });
    pass.open();
  });
  afterAll(async () => {
    await pass.close();
    await elsewhere.close();
  });
  const sent = () => elsewhere.ledger.calls().at(-1);

  test.each([
    [name, false, "qwen3:8b"],
    [name, true, "qwen3:8b"],
    ["bedrock/opus", false, "eu.anthropic.opus"],
    ["bedrock/opus", true, "eu.anthropic.opus"],
  ])("%s is asked there under its own name, and answers under ours (stream: %s)", async (model, stream, own) => {
    const before = simulator.ledger.calls().length;
    const { status, body } = await ask(pass, { model, stream, prompt: script([{ text: "ein größeres 🙂" }]) });
    expect([status, sent()?.model]).toEqual([200, own]);
    const first = stream ? /^data: (.*)$/m.exec(body)?.[1] : body;
    const told = JSON.parse(first ?? "") as { model?: string; message?: { model: string } };
    expect((told.message ?? told).model).toBe(model);
    if (!stream) expect(body).toContain("ein größeres 🙂");
    expect(simulator.ledger.calls().length).toBe(before);
  });

  test("a model that cannot be used is refused with the reason, and nothing is sent", async () => {
    const before = elsewhere.ledger.calls().length;
    const { status, body } = await ask(pass, { model: "openai/gpt-6" });
    expect([status, body]).toEqual([403, expect.stringContaining("It speaks another API.")]);
    expect(elsewhere.ledger.calls().length).toBe(before);
  });

  test("an error of a cloud has the format of the Messages API", async () => {
    const prompt = script([{ error: { status: 429, retryAfter: 7 } }]);
    const { status, body } = await ask(pass, { model: "bedrock/opus", stream: true, prompt });
    expect([status, JSON.parse(body)]).toMatchObject([429, { type: "error", error: { type: "rate_limit_error" } }]);
    const path = "/v1/messages/count_tokens";
    expect((await ask(pass, { model: "bedrock/opus", path })).status).toBe(404);
  });
});
