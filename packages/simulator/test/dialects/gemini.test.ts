import type { Content, GenerateContentParameters, GenerateContentResponse, Part } from "@google/genai";
import { expect, test } from "vitest";
import { EVERYTHING, PIXEL, READ_SCHEMA, play, rig } from "./clients.ts";

const TOOLS = [
  {
    functionDeclarations: [
      { name: "read", parametersJsonSchema: READ_SCHEMA },
      { name: "list", description: "Lists." },
    ],
  },
];

const ask = (contents: GenerateContentParameters["contents"], config = {}): GenerateContentParameters => ({
  model: "gemini-3-pro",
  contents,
  config: { tools: TOOLS, thinkingConfig: { includeThoughts: true }, ...config },
});

const partsOf = (response: GenerateContentResponse | undefined): Part[] =>
  response?.candidates?.[0]?.content?.parts ?? [];

/** Joins neighbouring parts of the same kind into one, as a client does. */
function joined(parts: readonly Part[]): Part[] {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (part.text === "" && !part.thoughtSignature) continue;
    const continues = last?.text !== undefined && part.text !== undefined && last.thought === part.thought;
    if (continues) all[all.length - 1] = { ...last, ...part, text: `${last.text}${part.text}` };
    else all.push(part);
  }
  return all;
}

test("an answer has the same parts with and without streaming", async () => {
  const { google } = await rig();
  const whole = await google.models.generateContent(ask(play(EVERYTHING)));
  const chunks: GenerateContentResponse[] = [];
  for await (const chunk of await google.models.generateContentStream(ask(play(EVERYTHING)))) chunks.push(chunk);
  expect(joined(chunks.flatMap(partsOf))).toEqual(partsOf(whole));
  expect(partsOf(whole)).toMatchObject([
    { text: EVERYTHING.thinking, thought: true },
    { text: EVERYTHING.text },
    {
      functionCall: { name: "read", args: EVERYTHING.tools?.[0]?.input },
      thoughtSignature: expect.any(String) as string,
    },
    { functionCall: { name: "list", args: {} } },
  ]);
  expect(chunks.at(-1)?.candidates?.[0]?.finishReason).toBe("STOP");
  expect(chunks.at(-1)?.usageMetadata).toEqual(whole.usageMetadata);
  expect(whole.modelVersion).toBe("gemini-3-pro");
});

test("Gemini continues a turn only if every call has a response and no signature was changed", async () => {
  const { google } = await rig();
  const prompt = play(
    { thinking: "hm", tools: [{ name: "read", input: { path: "a" } }, { name: "list" }] },
    { text: "It says $LAST" },
  );
  const image = { inlineData: { mimeType: "image/png", data: PIXEL } };
  const user: Content = { role: "user", parts: [{ text: prompt }, image] };
  const first = await google.models.generateContent(ask([user]));
  const answered: Content = { role: "model", parts: partsOf(first) };
  const response = (name: string, output: string): Part => ({ functionResponse: { name, response: { output } } });
  const results: Content = { role: "user", parts: [response("read", "hello"), response("list", "a, b")] };
  const second = await google.models.generateContent(ask([user, answered, results]));
  expect(second.text).toBe("It says a, b");

  const half: Content = { role: "user", parts: [response("read", "hello")] };
  await expect(google.models.generateContent(ask([user, answered, half]))).rejects.toThrow(
    "number of function response parts is equal to the number of function call parts",
  );
  const changed: Content = {
    role: "model",
    parts: partsOf(first).map((part) => (part.thoughtSignature ? { ...part, thoughtSignature: "YWJj" } : part)),
  };
  await expect(google.models.generateContent(ask([user, changed, results]))).rejects.toThrow("thought signature");
});

test("usage counts the cached prefix as part of the prompt, and thoughts separately from the answer", async () => {
  const { google, simulator } = await rig();
  const long = ask(play({ thinking: "x".repeat(40), text: "y".repeat(8) }), { systemInstruction: "z".repeat(8000) });
  await google.models.generateContent(long);
  expect(simulator.ledger.calls().at(-1)?.usage?.cache_creation_input_tokens).toBe(0);
  const { usageMetadata } = await google.models.generateContent(long);
  const counted = simulator.ledger.calls().at(-1)?.usage;
  expect(usageMetadata).toMatchObject({
    promptTokenCount: (counted?.input_tokens ?? 0) + (counted?.cache_read_input_tokens ?? 0),
    cachedContentTokenCount: counted?.cache_read_input_tokens,
    candidatesTokenCount: 2,
    thoughtsTokenCount: 10,
  });
});

test("an answer with a schema is JSON, and an answer that is cut short has the finish reason MAX_TOKENS", async () => {
  const { google } = await rig();
  const json = {
    tools: [],
    responseMimeType: "application/json",
    responseJsonSchema: { ...READ_SCHEMA, required: ["path"] },
  };
  const { text } = await google.models.generateContent(ask("Which file?", json));
  expect(JSON.parse(text ?? "")).toHaveProperty("path");
  const cut = await google.models.generateContent(ask(play({ text: "x".repeat(100) }), { maxOutputTokens: 5 }));
  expect(cut.candidates?.[0]?.finishReason).toBe("MAX_TOKENS");
});

test("errors have Google's shape, with the delay before a retry as a detail", async () => {
  const { google, simulator } = await rig();
  const busy = ask(play({ error: { status: 429, retryAfter: 3 } }));
  const error = (await google.models.generateContent(busy).catch((reason: unknown) => reason)) as Error;
  expect(error).toMatchObject({ status: 429 });
  expect(JSON.parse(error.message)).toMatchObject({
    error: { code: 429, status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "3s" }] },
  });
  const path = `${simulator.url}/v1beta/models/gemini-3-pro:generateContent`;
  const unnamed = await fetch(path, { method: "POST", body: "{}" });
  expect([unnamed.status, await unnamed.json()]).toMatchObject([403, { error: { status: "PERMISSION_DENIED" } }]);
  const empty = await fetch(path, { method: "POST", body: "{}", headers: { "x-goog-api-key": "" } });
  expect(empty.status).toBe(403);
  const unknown = { method: "POST", body: '{"foo":1}', headers: { "x-goog-api-key": "secret" } };
  expect(await (await fetch(path, unknown)).json()).toMatchObject({
    error: { message: expect.stringContaining('Unknown name "foo"') as string },
  });
  expect(JSON.stringify(simulator.ledger.calls())).not.toContain("secret");
});

test("countTokens returns the same count as an answer, and models are listed", async () => {
  const { google } = await rig();
  const model = "gemini-3-pro";
  const { usageMetadata } = await google.models.generateContent({ model, contents: "How much is 2+2?" });
  const { totalTokens } = await google.models.countTokens({ model, contents: "How much is 2+2?" });
  expect(totalTokens).toBe(usageMetadata?.promptTokenCount);
  expect((await google.models.list()).page.map(({ name }) => name)).toContain(`models/${model}`);
  expect(await google.models.get({ model })).toMatchObject({ inputTokenLimit: 1_048_576 });
  await expect(google.models.get({ model: "gemini-0" })).rejects.toThrow("models/gemini-0");
});

test.each([
  [{ temperature: 3 }, "temperature must be in the range"],
  [{ topP: -1 }, "top_p must be in the range"],
  [{ candidateCount: 2 }, "Multiple candidates"],
])("the setting %o is rejected", async (config, message) => {
  const { google } = await rig();
  await expect(google.models.generateContent(ask("x", config))).rejects.toThrow(message);
});
