import { DESCRIPTION, MODEL, TOOL, add, prompt, run, simulator } from "./harness.mjs";

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

await run({
  turn: async () => {
    const messages = [{ role: "user", content: prompt }];
    for (;;) {
      const content = await ask(messages);
      messages.push({ role: "assistant", content });
      const call = content.find(({ type }) => type === "tool_use");
      if (!call) return;
      const result = { type: "tool_result", tool_use_id: call.id, content: String(await add(call.input)) };
      messages.push({ role: "user", content: [result] });
    }
  },
});
