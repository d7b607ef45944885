/** How answers of model APIs are read: stop reasons, token counts, errors, and data that later calls send back. */
import { EVERY_ABILITY, type Model, ModelFailure, type ModelReply, createAnswerStream } from "@skein/core";
import { sampleCall } from "@skein/core/testing";
import { describe, expect, test } from "vitest";
import { createAiSdkModel } from "../src/models/ai-sdk/index.ts";
import { messagesBody } from "../src/models/anthropic/body.ts";
import { createMessagesModel } from "../src/models/anthropic/messages-model.ts";
import { createChunkReader } from "../src/models/openai-compatible/chunks.ts";
import { responsesBody } from "../src/models/openai/body.ts";
import { createEventReader } from "../src/models/openai/events.ts";

const answer = () => createAnswerStream({ model: "own/m" }, () => {});

function reading(reader: { add(data: string): void; end(): ModelReply }, events: readonly object[]): ModelReply {
  for (const event of events) reader.add(JSON.stringify(event));
  return reader.end();
}

function failureOf(read: () => unknown): Partial<ModelFailure> {
  try {
    read();
  } catch (error) {
    if (error instanceof ModelFailure) return error;
    throw error;
  }
  throw new Error("Expected a failure.");
}

describe("Responses", () => {
  const read = (...events: readonly object[]) => reading(createEventReader(answer()), events);
  const text = { type: "response.output_text.delta", output_index: 0, delta: "Half" };
  const usage = {
    input_tokens: 100,
    output_tokens: 30,
    input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    output_tokens_details: { reasoning_tokens: 20 },
  };
  const completed = { type: "response.completed", response: { status: "completed", usage } };
  const incomplete = (reason: string) => ({
    type: "response.incomplete",
    response: { status: "incomplete", incomplete_details: { reason } },
  });

  test.each([
    ["a completed answer", [text, completed], "end_turn"],
    ["an answer that reached the limit of tokens", [text, incomplete("max_output_tokens")], "max_tokens"],
    ["an answer that a filter stopped", [text, incomplete("content_filter")], "refusal"],
    ["a refusal", [{ ...text, type: "response.refusal.delta" }, completed], "refusal"],
  ] as const)("%s has the right stop reason in the log", (_, events, stop) => {
    expect(read(...events).stopReason).toBe(stop);
  });

  test("tokens read from the cache, written to the cache and used for reasoning are counted separately", () => {
    expect(read(text, completed).usage).toEqual({
      input_tokens: 30,
      output_tokens: 30,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 10,
      output_tokens_details: { thinking_tokens: 20 },
    });
  });

  test.each([
    ["response.failed", { type: "response.failed", response: { error: { code: "server_error", message: "Broke." } } }],
    ["error", { type: "error", code: "server_error", message: "Broke." }],
  ])("the event %s is a failure with the provider's message", (_, event) => {
    expect(failureOf(() => read(text, event))).toMatchObject({ failure: { message: "Broke." }, retryable: true });
  });

  test("a server may send the text of a message, or the input of a call, only at the end of the item", () => {
    const done = (item: object) => ({ type: "response.output_item.done", output_index: 0, item });
    const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Late." }] };
    expect(read(done(message), completed).content).toMatchObject([{ type: "text", text: "Late." }]);
    const call = { type: "function_call", id: "fc", call_id: "c", name: "read", arguments: '{"path":"a"}' };
    const begun = { type: "response.output_item.added", output_index: 0, item: { ...call, arguments: "" } };
    const expected = { type: "tool_use", id: "c", name: "read", input: { path: "a" } };
    expect(read(done(call), completed)).toMatchObject({ content: [expected], stopReason: "tool_use" });
    expect(read(begun, done(call), completed).content).toMatchObject([expected]);
    const delta = { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"path":"a"}' };
    expect(read(begun, delta, done(call), completed).content).toMatchObject([expected]);
  });

  test("a cancelled answer is a failure with the code stream_cut", () => {
    const cancelled = { type: "response.incomplete", response: { status: "cancelled", usage } };
    expect(failureOf(() => read(text, cancelled)).failure?.code).toBe("stream_cut");
  });

  test("a reasoning item is sent back unchanged before the next item, and left out if it is the last item", () => {
    const item = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "sealed", unknown: { kept: [1] } };
    const said = { id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text: "Half" }] };
    const at = (place: number, one: object) => ({ type: "response.output_item.done", output_index: place, item: one });
    const bodyAfter = ({ content }: ModelReply) => {
      const turns = [{ role: "assistant" as const, content: JSON.parse(JSON.stringify(content)) }];
      return responsesBody(sampleCall({ model: "own/m", turns }), { name: "m", abilities: EVERY_ABILITY });
    };
    const whole = bodyAfter(read(at(0, item), { ...text, output_index: 1 }, at(1, said), completed));
    expect(whole.body["input"]).toEqual([item, said]);
    expect(whole.body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    const alone = bodyAfter(read(at(0, item), completed));
    expect(alone).toMatchObject({ body: { input: [] }, leftOut: [{ turn: 0, block: "thinking" }] });
  });
});

describe("Chat Completions", () => {
  const read = (...chunks: readonly object[]) =>
    reading(
      createChunkReader(answer(), (at) => `c${at}`),
      chunks,
    );
  const ending = (finish_reason: string, usage?: object) => ({
    choices: [{ index: 0, delta: { content: "Half" }, finish_reason }],
    usage,
  });

  test.each([
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["content_filter", "refusal"],
  ])("the finish reason %s is %s in the log", (finish, stop) => {
    expect(read(ending(finish)).stopReason).toBe(stop);
  });

  test.each([
    ["OpenAI", { prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 } }, 10],
    ["DeepSeek", { prompt_cache_hit_tokens: 60 }, 0],
  ])("cached and reasoning tokens are counted separately in the format of %s", (_, details, written) => {
    const told = { prompt_tokens: 100, completion_tokens: 30, completion_tokens_details: { reasoning_tokens: 20 } };
    expect(read(ending("stop", { ...told, ...details })).usage).toEqual({
      input_tokens: 40 - written,
      output_tokens: 30,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: written,
      output_tokens_details: { thinking_tokens: 20 },
    });
  });

  test("an error in the stream is a failure with the server's message, even if the stream ends normally after it", () => {
    const error = { error: { message: "The engine died.", type: "server_error" } };
    expect(failureOf(() => read(error, ending("stop"))).failure?.message).toBe("The engine died.");
  });
});

describe("the AI SDK", () => {
  const usage = { inputTokens: { total: 9, cacheRead: 4 }, outputTokens: { total: 5, reasoning: 2 } };
  const model = (unified: string, metadata?: object): Model => {
    const parts = [
      { type: "reasoning-start", id: "1" },
      { type: "reasoning-delta", id: "1", delta: "Hm." },
      { type: "reasoning-end", id: "1", ...(metadata && { providerMetadata: metadata }) },
      { type: "text-delta", id: "2", delta: "Half" },
      { type: "finish", usage, finishReason: { unified, raw: unified } },
    ];
    const doStream = async () => ({ stream: ReadableStream.from(parts) });
    return createAiSdkModel({ model: { specificationVersion: "v4", provider: "own.chat", modelId: "m", doStream } });
  };
  const call = sampleCall({ model: "own/m" });
  const never = new AbortController().signal;

  test.each([
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["content-filter", "refusal"],
  ])("the finish reason %s is %s in the log", async (unified, stop) => {
    const { stopReason, usage: counted } = await model(unified).call(call, () => {}, never);
    expect(stopReason).toBe(stop);
    expect(counted).toMatchObject({ input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 5 });
    expect(counted.output_tokens_details).toEqual({ thinking_tokens: 2 });
  });

  test("a provider's metadata is sent back unchanged with its part of the answer", async () => {
    const metadata = { own: { thoughtSignature: "sealed", deep: { kept: [1, null] } } };
    const one = model("stop", metadata);
    const { content } = await one.call(call, () => {}, never);
    const turns = [...call.turns, { role: "assistant" as const, content: JSON.parse(JSON.stringify(content)) }];
    const { body } = one.prepare({ ...call, turns });
    expect((body["prompt"] as readonly object[]).at(-1)).toMatchObject({
      content: [{ type: "reasoning", text: "Hm.", providerOptions: metadata }, { type: "text" }],
    });
  });
});

test("Claude continues another model's step with thinking off, because the API requires signed thinking before tool calls", () => {
  const asked = (carry: object) => {
    const turns = [
      { role: "user" as const, content: "Hi." },
      { role: "assistant" as const, content: [{ type: "tool_use", id: "c", name: "read", input: {}, ...carry }] },
      { role: "user" as const, content: [{ type: "tool_result", tool_use_id: "c", content: "x" }] },
    ];
    const call = sampleCall({ model: "claude-sonnet-5-5", turns, thinkingTokens: 2000, maxTokens: 4000 });
    return messagesBody(call, { name: call.model, isClaude: true, abilities: EVERY_ABILITY });
  };
  expect(asked({}).body["thinking"]).toMatchObject({ type: "enabled" });
  const other = asked({ carry: { by: "openai/gpt-6", data: null } });
  expect(other.body).not.toHaveProperty("thinking");
  expect(other.leftOut).toMatchObject([{ block: "thinking", turn: 2 }]);
});

describe("Messages servers that are not Anthropic's", () => {
  const call = sampleCall({ model: "own/m", usedIds: new Set(["call_0"]) });
  const ask = (events: readonly object[], isNamed = true) => {
    const lines = events.map((event) => {
      const { type } = event as { readonly type: string };
      return `${isNamed ? `event: ${type}\n` : ""}data: ${JSON.stringify(event)}\n\n`;
    });
    const send = async () => new Response(lines.join(""));
    const model = createMessagesModel({ send, nameOf: () => "m", isClaude: false });
    return model.call(call, () => {}, new AbortController().signal);
  };
  const start = (usage?: object) => ({ type: "message_start", message: { model: "m", usage } });
  const block = (content_block: object) => [
    { type: "content_block_start", index: 0, content_block },
    { type: "content_block_stop", index: 0 },
  ];
  const stop = (usage?: object) => [
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "message_stop" },
  ];
  const COUNTED = { input_tokens: 5, output_tokens: 1 };
  const text = block({ type: "text", text: "Hello." });

  test("a stream is read even if only the data has the names of the events", async () => {
    const { content } = await ask([start(COUNTED), ...text, ...stop({ output_tokens: 2 })], false);
    expect(content).toMatchObject([{ text: "Hello." }]);
  });

  test.each([
    ["no counts at all", undefined, undefined],
    ["no count of the input", undefined, { output_tokens: 2 }],
    ["empty counts", {}, {}],
  ])("an answer with %s is marked as estimated, so that it has no price", async (_, first, last) => {
    expect((await ask([start(first), ...text, ...stop(last)])).estimated).toBe(true);
  });

  test("the usage of an answer with token counts is not estimated", async () => {
    const reply = await ask([start(COUNTED), ...text, ...stop({ output_tokens: 2 })]);
    expect(reply).not.toHaveProperty("estimated");
    expect(reply.usage).toMatchObject({ input_tokens: 5, output_tokens: 2 });
  });

  test.each([["call_0"], ["functions.add:0"], [undefined]])(
    "a call with the used, invalid or missing id %s gets a new id",
    async (id) => {
      const { content } = await ask([
        start(COUNTED),
        ...block({ type: "tool_use", id, name: "add", input: {} }),
        ...stop(),
      ]);
      expect(content[0]?.["id"]).toMatch(/^c_[0-9a-f]+$/);
    },
  );

  test("an error that is only a text becomes the message of the failure", async () => {
    const error = { type: "error", error: "The engine died." };
    await expect(ask([start(COUNTED), error])).rejects.toMatchObject({ failure: { message: "The engine died." } });
  });
});
