/**
 * The answers of the simulator without a script. They depend only on the request.
 *
 * An answer says that it is simulated. It contains the result of a simple sum, or calls of tools that match the prompt.
 * A prompt gets one round of calls, or as many as it asks for ("use the search tool 3 times").
 */
import { chooseTools } from "./demo-tools.ts";
import { sampleOf } from "./demo-input.ts";
import { lastResult } from "./plan.ts";
import type { Step, ToolCall } from "./script.ts";
import { solveSum } from "./solve-sum.ts";
import { blocksOf, type JsonObject, type Message, type MessagesRequest, resultText, textsOf } from "./wire.ts";

const SIMULATION = "This is a simulation: no model was asked and nothing was billed.";
const MAXIMUM_ROUNDS = 10;
const MAXIMUM_QUOTE = 400;

export function demoStep(request: MessagesRequest): Step {
  if (request.outputSchema) return typedAnswer(request, request.outputSchema);
  return request.thinking ? { thinking: thoughtOf(request), ...answer(request) } : answer(request);
}

/**
 * Answers a request with a schema. The first answers call the tools that match the prompt. The last answer is JSON with
 * values from the results.
 */
function typedAnswer(request: MessagesRequest, schema: JsonObject): Step {
  const { text, rounds } = promptOf(request.messages);
  const tools = toolsFor(request);
  if (tools.length > 0) return { tools };
  const results = resultTexts(request.messages, rounds);
  return { text: JSON.stringify(sampleOf(schema, { prompt: text, results })) };
}

function answer(request: MessagesRequest): Step {
  const { text, rounds } = promptOf(request.messages);
  const tools = toolsFor(request);
  if (tools.length > 0) return isForced(request) ? { tools } : { text: announce(tools), tools };
  if (rounds > 0) return { text: `The tool answered: ${quote(lastResult(request.messages))}\n\n${SIMULATION}` };
  const sum = solveSum(text);
  if (sum !== null) return { text: `The answer is ${sum}. ${SIMULATION}` };
  if (/^\W*(hi|hello|hey|good (morning|day|evening)|greetings)\b/i.test(text)) {
    return { text: `Hello! I am Skein's simulator, standing in for ${request.model}. ${SIMULATION} ${hint(request)}` };
  }
  return { text: `You wrote: ${quote(text)}\n\n${SIMULATION} ${hint(request)}` };
}

/** Returns the next tool calls. After as many rounds of calls as the prompt asks for, only a forced tool is called. */
function toolsFor(request: MessagesRequest): readonly ToolCall[] {
  const { text, rounds } = promptOf(request.messages);
  return isForced(request) || rounds < roundsWanted(text) ? chooseTools(request, text) : [];
}

function isForced({ toolChoice }: MessagesRequest): boolean {
  return toolChoice.type === "any" || toolChoice.type === "tool";
}

/** The last text of a person, and how many rounds of tool calls followed it. */
function promptOf(messages: readonly Message[]): { readonly text: string; readonly rounds: number } {
  let rounds = 0;
  for (const message of messages.toReversed()) {
    if (message.role === "assistant" && blocksOf(message.content).some((block) => block.type === "tool_use"))
      rounds += 1;
    if (message.role !== "user") continue;
    const text = textsOf(message.content).map(withoutReminders).filter(Boolean).join("\n");
    if (text !== "") return { text, rounds };
  }
  return { text: "", rounds };
}

/** The results of the last rounds of calls, oldest first. */
function resultTexts(messages: readonly Message[], rounds: number): readonly string[] {
  if (rounds === 0) return [];
  const calls = messages.filter(
    ({ role, content }) => role === "assistant" && blocksOf(content).some(({ type }) => type === "tool_use"),
  );
  const first = calls.at(-rounds);
  return messages
    .slice(first ? messages.indexOf(first) : 0)
    .flatMap(({ role, content }) => (role === "user" ? blocksOf(content) : []))
    .filter(({ type }) => type === "tool_result")
    .map(resultText);
}

// Removes the notes that Claude Code adds to user messages.
function withoutReminders(text: string): string {
  return text.replaceAll(/<system-reminder>[\s\S]*?<\/system-reminder>/g, "").trim();
}

function roundsWanted(text: string): number {
  if (/\btwice\b/i.test(text)) return 2;
  // "3 times 4" is a calculation, not a number of calls.
  const asked = /\b(\d+) times\b(?!\s*\d)/i.exec(text)?.[1];
  return Math.max(1, Math.min(MAXIMUM_ROUNDS, Number(asked ?? 1)));
}

function thoughtOf({ messages }: MessagesRequest): string {
  return `The prompt is ${quote(promptOf(messages).text)}. I am a simulation, so I answer with what I can do without a model.`;
}

function announce(tools: readonly { readonly name: string }[]): string {
  const names = tools.map((tool) => `\`${tool.name}\``).join(" and ");
  return `I will use ${names}. (A simulation: the inputs are guessed from the prompt.)`;
}

function hint({ tools }: MessagesRequest): string {
  const name = tools.find((tool) => tool.input_schema)?.name;
  const about = name === undefined ? "" : `, or ask me to use a tool, such as "use the ${name} tool"`;
  return `Ask me a little sum${about}.`;
}

function quote(text: string): string {
  const short = text.length > MAXIMUM_QUOTE ? `${text.slice(0, MAXIMUM_QUOTE)}…` : text;
  return short === "" ? "(nothing)" : `"${short}"`;
}
