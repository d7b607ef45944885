import { setTimeout as delay } from "node:timers/promises";
import { type Agent, type AgentOptions, type Tool, createAgent, defineTool } from "skein";
import { z } from "zod";
import type { Output, Outputs } from "./story.ts";

const file = z.object({ file_path: z.string() }).loose();
const DESCRIPTIONS = {
  Bash: ["Runs a command in the folder of the project.", z.object({ command: z.string() }).loose()],
  Read: ["Reads a file.", file],
  Edit: ["Replaces a text in a file.", file],
  Write: ["Writes a file.", file],
  Grep: ["Searches in files.", z.object({ pattern: z.string() }).loose()],
  find_invoices: ["Finds invoices by day and by what they have in common.", z.object({ day: z.string() }).loose()],
  refund_payment: [
    "Refunds a payment. Runs once and cannot be taken back.",
    z.object({ invoice: z.string(), amount: z.string(), reason: z.string() }),
  ],
  draw_chart: ["Draws a chart.", z.object({ title: z.string() }).loose()],
} as const;

/**
 * Returns the agents for development and screenshots. Their tools return only results from the scripts of the example
 * sessions.
 */
export function createAgents(outputs: Outputs, more: Partial<AgentOptions> = {}): readonly Agent[] {
  const tool = (name: keyof typeof DESCRIPTIONS, needsApproval = false): Tool => {
    const [description, input] = DESCRIPTIONS[name];
    return defineTool({
      name,
      description,
      input,
      needsApproval,
      run: (given, { signal }) => answer(name, given, { outputs, signal }),
    });
  };
  const question = defineTool({
    name: "AskUserQuestion",
    description: "Asks the user one to four questions with options to choose from, and waits for the answer.",
    input: z.object({ questions: z.array(z.object({ question: z.string() }).loose()) }),
    executor: "question",
  });
  const label = defineTool({
    name: "print_label",
    description: "Prints a label at the desk of whoever uses this.",
    input: z.object({ parcel: z.string(), printer: z.string(), copies: z.number() }),
    executor: "frontend",
  });
  const project = [tool("Bash"), tool("Read"), tool("Edit"), tool("Write"), tool("Grep")];
  const agent = (name: string, description: string, options: AgentOptions): Agent =>
    createAgent({ name, description, base_delay: 0.01, ...more, ...options });
  const runner = agent("test-runner", "Runs tests many times. Give it the task.", {
    model: "claude-haiku-5-5",
    tools: [tool("Bash")],
  });
  return [
    agent("Fixer", "Finds and fixes bugs, with a test that fails first.", {
      model: "claude-sonnet-5-5",
      system_prompt: "You fix bugs in Lumen. Find the cause before you change anything. Write a test that fails first.",
      max_cost_micros: 2_000_000,
      tools: project,
      subagents: [runner],
    }),
    agent("Billing", "Invoices, payments and refunds.", {
      model: "claude-sonnet-5-5",
      tools: [tool("find_invoices"), tool("refund_payment", true)],
    }),
    agent("Infra", "Deployments and databases. Asks before it changes anything.", {
      model: "claude-sonnet-5-5",
      tools: [tool("Bash", true), tool("Edit", true)],
    }),
    agent("Reports", "Numbers for people.", { model: "claude-sonnet-5-5", tools: [question, tool("draw_chart")] }),
    agent("Desk", "Works with the devices of a desk.", { model: "claude-haiku-5-5", tools: [label] }),
    agent("Helper", "Explains the code base.", { model: "claude-haiku-5-5" }),
    agent("Research", "Compares and recommends.", { model: "claude-opus-5-5", thinking_tokens: 1024 }),
    agent("Support", "Reads tickets.", { model: "claude-haiku-5-5" }),
    agent("Archivist", "Remembers how it was done.", {
      model: "claude-sonnet-5-5",
      tools: [tool("Read")],
      compactor_type: "tool_result_removal",
      compaction_threshold: 1200,
    }),
    runner,
  ];
}

async function answer(
  name: string,
  input: Record<string, unknown>,
  { outputs, signal }: { outputs: Outputs; signal: AbortSignal },
): Promise<unknown> {
  const [about] = [
    input["command"],
    input["file_path"],
    input["pattern"],
    input["day"],
    input["invoice"],
    input["title"],
  ].filter((value) => typeof value === "string");
  const output: Output = outputs[`${name} ${about}`] ?? { text: "" };
  await delay(output.ms ?? 5, undefined, { signal });
  if (output.fails === true) throw new Error(output.text);
  if (output.picture === undefined) return output.text;
  return [
    { type: "text", text: output.text },
    { type: "image", source: { type: "base64", media_type: "image/png", data: output.picture } },
  ];
}
