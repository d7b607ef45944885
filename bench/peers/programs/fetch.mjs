import { DESCRIPTION, MODEL, TOOL, adapter, add, prompt, run, simulator } from "./harness.mjs";

const parameters = { type: "object" };
const about = { name: TOOL, description: DESCRIPTION };

async function post(path, body) {
  const response = await fetch(`${simulator}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer bench", "x-goog-api-key": "bench" },
    body: JSON.stringify(body),
  });
  return response.json();
}

/** The same turn in the formats of the other APIs: two calls, and the tool between them. */
const TURNS = {
  async openai() {
    const input = [{ role: "user", content: prompt }];
    for (;;) {
      const tools = [{ type: "function", ...about, parameters, strict: false }];
      const { output } = await post("v1/responses", { model: "gpt-6", input, tools, store: false });
      const call = output.find(({ type }) => type === "function_call");
      if (!call) return;
      const result = String(await add(JSON.parse(call.arguments)));
      input.push(...output, { type: "function_call_output", call_id: call.call_id, output: result });
    }
  },
  async "openai-compatible"() {
    const messages = [{ role: "user", content: prompt }];
    for (;;) {
      const tools = [{ type: "function", function: { ...about, parameters } }];
      const { choices } = await post("v1/chat/completions", { model: "llama", messages, tools });
      const [{ message }] = choices;
      if (!message.tool_calls) return;
      const [{ id, function: call }] = message.tool_calls;
      const content = String(await add(JSON.parse(call.arguments)));
      messages.push(message, { role: "tool", tool_call_id: id, content });
    }
  },
  async "ai-sdk"() {
    const contents = [{ role: "user", parts: [{ text: prompt }] }];
    for (;;) {
      const tools = [{ functionDeclarations: [{ ...about, parameters }] }];
      const { candidates } = await post("v1beta/models/gemini-3-pro:generateContent", { contents, tools });
      const [{ content }] = candidates;
      const call = content.parts.find(({ functionCall }) => functionCall)?.functionCall;
      if (!call) return;
      const response = { content: await add(call.args) };
      const parts = [{ functionResponse: { id: call.id, name: call.name, response } }];
      contents.push(content, { role: "user", parts });
    }
  },
};

async function ask(messages) {
  const response = await fetch(`${simulator}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "bench", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({
      model: MODEL,
      max_tokens: 2048,
      messages,
      tools: [{ name: TOOL, description: DESCRIPTION, input_schema: { type: "object" } }],
    }),
  });
  return (await response.json()).content;
}

async function messagesTurn() {
  const messages = [{ role: "user", content: prompt }];
  for (;;) {
    const content = await ask(messages);
    messages.push({ role: "assistant", content });
    const call = content.find(({ type }) => type === "tool_use");
    if (!call) return;
    const result = { type: "tool_result", tool_use_id: call.id, content: String(await add(call.input)) };
    messages.push({ role: "user", content: [result] });
  }
}

await run({ turn: TURNS[adapter] ?? messagesTurn });
