/** Agents with model objects of the AI SDK. */
import { createMemoryStore } from "@skein/core";
import { createAgent } from "skein";
import { expect, onTestFinished, test } from "vitest";

const USAGE = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};
const HELLO = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "Hello." },
  { type: "text-end", id: "1" },
];
const finish = (unified: string, raw?: string) => ({ type: "finish", usage: USAGE, finishReason: { unified, raw } });

/** Creates a provider whose streams have these parts. Records the requests to the provider. */
function provider(...parts: readonly object[]) {
  const asked: { readonly prompt: unknown }[] = [];
  return {
    asked,
    model: {
      specificationVersion: "v4" as const,
      provider: "own.chat",
      modelId: "m",
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error("Skein streams.")),
      async doStream(options: { readonly prompt: unknown }) {
        asked.push(options);
        return { stream: ReadableStream.from(parts) };
      },
    } as never,
  };
}

function agentWith(model: never) {
  const agent = createAgent({
    store: createMemoryStore(),
    model: "own/m",
    models: { "own/m": model },
    max_retries: 1,
    base_delay: 0.01,
  });
  onTestFinished(() => agent.close());
  return agent;
}

test("an agent calls a model object, and counts the tokens that the provider reports", async () => {
  const { model, asked } = provider(...HELLO, finish("stop", "stop"));
  const price = { input: 1, output: 2, cache_read: 0, date: "2026-11-01" };
  const result = await agentWith({ model, price } as never).run("Hi");
  expect(result).toMatchObject({ finalAnswer: "Hello.", error: null });
  expect(result.usage).toMatchObject({ input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 3 });
  expect(result.cost).toMatchObject({ total_cost: 0.000012 });
  expect(asked).toHaveLength(1);
});

test.each([
  ["without a finish", HELLO],
  ["with an interrupted finish", [...HELLO, finish("interrupted")]],
  ["with an error and then a finish", [...HELLO, { type: "error", error: "overloaded" }, finish("stop", "stop")]],
  ["with an unknown reason for its end", [...HELLO, finish("other")]],
])("a stream %s is not an answer: it is retried, and then the run fails", async (_, parts) => {
  const { model, asked } = provider(...parts);
  const result = await agentWith(model).run("Hi");
  expect(result.error).not.toBeNull();
  expect(asked).toHaveLength(2);
});

test("an invalid model object is rejected when the agent first runs", async () => {
  await expect(agentWith({ model: { specificationVersion: "v2" } } as never).run("Hi")).rejects.toThrow(
    "LanguageModelV4",
  );
});
