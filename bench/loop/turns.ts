import { type Agent, createAgent, defineTool } from "skein";
import { script } from "@skein/simulator";
import type { Store } from "@skein/core";
import { z } from "zod";

const MODEL = "claude-sonnet-5-5";
const TOOL = { name: "add", description: "Adds two numbers.", a: 2, b: 2 };

const STEPS = [
  { text: "Let me add.", tools: [{ name: TOOL.name, input: { a: TOOL.a, b: TOOL.b } }] },
  { text: "The sum of the two numbers is four, as everybody knows who has learnt to add." },
];

/** The prompt of every measured turn: one call of a tool, then an answer. */
export const PROMPT = `Add them. ${script(STEPS, "bench")}`;

export function benchAgent(baseUrl: string, store: Store): Agent {
  const add = defineTool({
    name: TOOL.name,
    description: TOOL.description,
    input: z.object({ a: z.number(), b: z.number() }),
    policy: "repeatable",
    run: ({ a, b }) => a + b,
  });
  return createAgent({ name: "Bench", model: MODEL, apiKey: "bench", baseUrl, store, tools: [add] });
}

/** The least that a turn can cost: the same two model calls with bare `fetch`, and the tool call between them. */
export async function bareTurn(baseUrl: string, history: readonly unknown[] = []): Promise<unknown[]> {
  const messages: unknown[] = [...history, { role: "user", content: PROMPT }];
  for (const last of [false, true]) {
    const content = await bareCall(baseUrl, messages);
    messages.push({ role: "assistant", content });
    const call = content.find(({ type }) => type === "tool_use");
    if (last || !call) break;
    messages.push({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: call.id, content: String(TOOL.a + TOOL.b) }],
    });
  }
  return messages;
}

interface Block {
  type: string;
  id?: string;
  text?: string | undefined;
  input?: unknown;
  json?: string;
}

/** Sets the same cache breakpoint as Skein does, because it costs time in the simulator. */
function withBreakpoint(messages: readonly unknown[]): readonly unknown[] {
  const last = messages.at(-1) as { role: string; content: string | Block[] };
  const blocks = typeof last.content === "string" ? [{ type: "text", text: last.content }] : last.content;
  const marked = blocks.map((block, i) =>
    i === blocks.length - 1 ? { ...block, cache_control: { type: "ephemeral" } } : block,
  );
  return [...messages.slice(0, -1), { ...last, content: marked }];
}

async function bareCall(baseUrl: string, messages: readonly unknown[]): Promise<Block[]> {
  const response = await fetch(`${baseUrl}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "bench", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({
      model: MODEL,
      max_tokens: 2048,
      stream: true,
      messages: withBreakpoint(messages),
      tools: [{ name: TOOL.name, description: TOOL.description, input_schema: { type: "object" } }],
    }),
  });
  const blocks: Block[] = [];
  for (const line of (await response.text()).split("\n")) {
    if (!line.startsWith("data: ")) continue;
    const event = JSON.parse(line.slice(6)) as {
      type: string;
      index: number;
      content_block: Block;
      delta: { text?: string; partial_json?: string };
    };
    const block = blocks[event.index];
    if (event.type === "content_block_start") blocks[event.index] = { ...event.content_block, json: "" };
    if (event.type !== "content_block_delta" || !block) continue;
    block.text = block.type === "text" ? `${block.text ?? ""}${event.delta.text ?? ""}` : undefined;
    block.json += event.delta.partial_json ?? "";
  }
  return blocks.map(({ json, ...block }) =>
    block.type === "tool_use" ? { ...block, input: JSON.parse(json || "{}") } : block,
  );
}
