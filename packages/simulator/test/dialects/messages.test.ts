import { expect, test } from "vitest";
import type Anthropic from "@anthropic-ai/sdk";
import { script } from "@skein/simulator";
import { ask, HEADERS, play, rig, textOf } from "../client.ts";

const everything = {
  thinking: "Let me think about the wörld 🌍.",
  text: "I will look — twice.",
  tools: [
    { name: "read", input: { path: "a.txt", deep: { list: [1, "two", null], emoji: "🧶" } }, id: "toolu_first" },
    { name: "read", input: {} },
  ],
};

test("an answer becomes the same message with and without streaming", async () => {
  let count = 0;
  const { client } = await rig({ ids: (prefix) => `${prefix}${(count += 1) % 1 === 0 ? "same" : ""}` });
  const whole = await client.messages.create(play({ ...everything, chunk: 3 }));
  const streamed = await client.messages.stream(play({ ...everything, chunk: 3 })).finalMessage();
  expect(streamed.content).toEqual(whole.content);
  expect(streamed.usage).toEqual(whole.usage);
  expect(streamed.stop_reason).toBe("tool_use");
  expect(whole.content.map((block) => block.type)).toEqual(["thinking", "text", "tool_use", "tool_use"]);
  expect(whole.content[2]).toMatchObject({ id: "toolu_first", name: "read", input: everything.tools[0]?.input });
});

test("the events of a stream come in the order of the API", async () => {
  const { client } = await rig();
  const stream = await client.messages.create({ ...play({ thinking: "hm", text: "hello" }), stream: true });
  const types: string[] = [];
  for await (const event of stream) {
    if (event.type === "message_start") {
      expect(event.message).toMatchObject({ content: [], stop_reason: null, usage: { output_tokens: 1 } });
    }
    types.push(event.type === "content_block_delta" ? event.delta.type : event.type);
  }
  expect(types).toEqual([
    "message_start",
    "content_block_start",
    "thinking_delta",
    "signature_delta",
    "content_block_stop",
    "content_block_start",
    "text_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

test("a stream has a ping after its first event", async () => {
  const { simulator } = await rig();
  const response = await fetch(`${simulator.url}/v1/messages?beta=true`, {
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify({ ...play({ text: "hi" }), stream: true }),
  });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  expect(response.headers.get("request-id")).toMatch(/^req_/);
  const events = [...(await response.text()).matchAll(/^event: (\w+)$/gm)].map((match) => match[1]);
  expect(events.slice(0, 3)).toEqual(["message_start", "ping", "content_block_start"]);
});

test("a delta never cuts a character in two", async () => {
  const { client } = await rig();
  const deltas: string[] = [];
  const stream = client.messages.stream(play({ text: "a🌍b🧶c", chunk: 1 }));
  stream.on("text", (delta) => deltas.push(delta));
  expect(textOf(await stream.finalMessage())).toBe("a🌍b🧶c");
  expect(deltas).toEqual(["a", "🌍", "b", "🧶", "c"]);
});

test("the number of earlier answers decides the step, so copies of a conversation continue independently", async () => {
  const { client } = await rig();
  const prompt = script([
    { text: "looking", tools: [{ name: "read", input: { of: "$MODEL" }, id: "toolu_1" }] },
    { text: "It says $LAST on $MODEL." },
    { text: "the end" },
  ]);
  const first: Anthropic.MessageParam = { role: "user", content: `please ${prompt}` };
  const one = await client.messages.create({ ...ask(""), messages: [first] });
  expect(one.content[1]).toMatchObject({ input: { of: "claude-opus-5-5" } });

  const results: Anthropic.MessageParam = {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "cost: $& and $1" }],
  };
  const history: Anthropic.MessageParam[] = [first, { role: "assistant", content: one.content }, results];
  const [fork, other] = await Promise.all([
    client.messages.create({ ...ask(""), messages: history }),
    client.messages.create({ ...ask(""), model: "other-model", messages: history }),
  ]);
  expect(textOf(fork)).toBe("It says cost: $& and $1 on claude-opus-5-5.");
  expect(textOf(other)).toBe("It says cost: $& and $1 on other-model.");

  // A user message without a script continues the current script. After its last step, the script repeats that step.
  history.push({ role: "assistant", content: fork.content }, { role: "user", content: "and then?" });
  expect(textOf(await client.messages.create({ ...ask(""), messages: history }))).toBe("the end");
  history.push({ role: "assistant", content: "the end" }, { role: "user", content: "and then?" });
  expect(textOf(await client.messages.create({ ...ask(""), messages: history }))).toBe("the end");
  // A new script starts at its first step.
  history.push({ role: "assistant", content: "the end" }, { role: "user", content: script([{ text: "anew" }]) });
  expect(textOf(await client.messages.create({ ...ask(""), messages: history }))).toBe("anew");
});

test("$LAST is the result of the last call, whatever the order of the results", async () => {
  const { client } = await rig();
  const messages: Anthropic.MessageParam[] = [
    { role: "user", content: script([{ tools: [{ name: "t" }] }, { text: "$LAST" }]) },
    {
      role: "assistant",
      content: ["toolu_1", "toolu_2"].map((id) => ({ type: "tool_use" as const, id, name: "t", input: {} })),
    },
    {
      role: "user",
      content: ["toolu_2", "toolu_1"].map((id) => ({
        type: "tool_result" as const,
        tool_use_id: id,
        content: [{ type: "text" as const, text: `of ${id}` }],
      })),
    },
  ];
  expect(textOf(await client.messages.create({ ...ask(""), messages }))).toBe("of toolu_2");
});

test("entries of the role system in the middle of a conversation are neither steps nor errors", async () => {
  const { client } = await rig();
  const messages = [
    {
      role: "user",
      content: script([{ tools: [{ name: "t", id: "toolu_1" }] }, { text: "second" }, { text: "third" }]),
    },
    { role: "system", content: "environment" },
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "t", input: {} }] },
    { role: "system", content: [{ type: "text", text: "tools changed" }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "ok" }] },
  ] as Anthropic.MessageParam[];
  expect(textOf(await client.messages.create({ ...ask(""), messages }))).toBe("second");
});

test("the stop reason comes from the step, from a stop sequence or from max_tokens", async () => {
  const { client } = await rig();
  const reason = async (body: Anthropic.MessageCreateParamsNonStreaming) => {
    const { stop_reason, stop_sequence, content, usage } = await client.messages.stream(body).finalMessage();
    return { stop_reason, stop_sequence, text: textOf({ content }), tokens: usage.output_tokens };
  };
  expect(await reason(play({ text: "hi" }))).toMatchObject({ stop_reason: "end_turn", tokens: 1 });
  expect(await reason(play({ text: "hi", stop: "pause_turn" }))).toMatchObject({ stop_reason: "pause_turn" });
  expect(await reason({ ...play({ text: "one two STOP three" }), stop_sequences: ["END", "STOP"] })).toMatchObject({
    stop_reason: "stop_sequence",
    stop_sequence: "STOP",
    text: "one two ",
  });
  expect(await reason({ ...play({ text: "x".repeat(100) }), max_tokens: 10 })).toEqual({
    stop_reason: "max_tokens",
    stop_sequence: null,
    text: "x".repeat(40),
    tokens: 10,
  });
});

test("an answer that is a refusal has the details of the refusal", async () => {
  const { client } = await rig();
  const message = await client.messages
    .stream(
      play({ text: "No.", stop: "refusal", stopDetails: { type: "refusal", category: "cyber", explanation: "no" } }),
    )
    .finalMessage();
  expect(message.stop_details).toEqual({ type: "refusal", category: "cyber", explanation: "no" });
  const plain = await client.messages.create(play({ text: "No.", stop: "refusal" }));
  expect(plain.stop_details).toMatchObject({ type: "refusal" });
});

test("a step can replace the usage", async () => {
  const { client } = await rig();
  const { usage } = await client.messages
    .stream(play({ text: "hi", usage: { input_tokens: 7, output_tokens: 9 } }))
    .finalMessage();
  expect(usage).toMatchObject({ input_tokens: 7, output_tokens: 9, cache_read_input_tokens: 0 });
});

test("thinking is signed, and counted as thinking", async () => {
  const { client } = await rig();
  const message = await client.messages.create({
    ...play({ thinking: "x".repeat(40), text: "y".repeat(8) }),
    max_tokens: 3000,
    thinking: { type: "enabled", budget_tokens: 1024 },
  });
  expect(message.content[0]).toMatchObject({ type: "thinking", signature: expect.stringMatching(/.{20}/) as string });
  expect(message.usage).toMatchObject({ output_tokens: 12, output_tokens_details: { thinking_tokens: 10 } });
});

test("raw blocks are sent as they are, streamed or not", async () => {
  const { client } = await rig();
  const blocks = [
    { type: "redacted_thinking", data: "abc" },
    { type: "text", text: "after" },
  ];
  expect((await client.messages.create(play({ blocks }))).content).toEqual(blocks);
  expect((await client.messages.stream(play({ blocks })).finalMessage()).content).toEqual(blocks);
});

test("count_tokens returns the same count as an answer", async () => {
  const { client } = await rig();
  const { max_tokens: _, ...prompt } = { ...ask("How much?"), system: "Be brief.", tools: [tool("read")] };
  const { input_tokens } = await client.messages.countTokens(prompt);
  expect(input_tokens).toBeGreaterThan(10);
  const { usage } = await client.messages.create({ ...prompt, max_tokens: 100 });
  expect(usage.input_tokens).toBe(input_tokens);
});

test("models are listed and found", async () => {
  const { client } = await rig();
  const ids: string[] = [];
  for await (const model of client.models.list({ limit: 2 })) ids.push(model.id);
  expect(ids).toEqual(["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"]);
  expect(await client.models.retrieve("claude-haiku-5-5")).toMatchObject({ type: "model", line: "haiku" });
  await expect(client.models.retrieve("gpt")).rejects.toMatchObject({ status: 404, type: "not_found_error" });
});

function tool(name: string): Anthropic.Tool {
  return { name, input_schema: { type: "object", properties: { path: { type: "string" } } } };
}
