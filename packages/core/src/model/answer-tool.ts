import { type ContentBlock, type JsonObject, type ModelStreamEvent, type ToolSchema, isToolUse } from "@skein/protocol";

const NAME = "final_answer";

/** Returns the tool whose input is the final answer. Its name differs from the names of the agent's tools. */
export function answerTool(schema: JsonObject, tools: readonly Pick<ToolSchema, "name">[]): ToolSchema {
  let name = NAME;
  while (tools.some((tool) => tool.name === name)) name += "_";
  return {
    name,
    description: "Hands over the final answer. Call it once, when everything else is done.",
    input_schema: schema,
  };
}

/**
 * Translates the call of the answer tool into text, which is the JSON of its input. So readers of the log and the
 * stream need not know whether the provider got a schema or a tool. Reasons:
 * docs/decisions/240-typed-answers-by-tool.md.
 */
export function createAnswerTeller(tool: string | undefined): {
  /** Returns the events that replace an event of the model's stream. */
  tell(event: ModelStreamEvent): readonly ModelStreamEvent[];
  /** Returns whether a block is the answer. The call of the answer tool is not sent back to the provider. */
  isAnswer(index: number): boolean;
} {
  /** The number of characters of each answer so far. */
  const answers = new Map<number, number>();
  let hasOtherCalls = false;

  function write(index: number, text: string): ModelStreamEvent {
    answers.set(index, (answers.get(index) ?? 0) + text.length);
    return { type: "content_block_delta", index, delta: { type: "text_delta", text } };
  }

  function start(event: ModelStreamEvent, index: number): readonly ModelStreamEvent[] {
    const block = event["content_block"] as ContentBlock;
    if (!isToolUse(block)) return [event];
    if (block.name !== tool) {
      hasOtherCalls = true;
      return [event];
    }
    answers.set(index, 0);
    const begun = { ...event, content_block: { type: "text", text: "" } };
    const isWhole = Object.keys(block.input ?? {}).length > 0;
    return isWhole ? [begun, write(index, JSON.stringify(block.input))] : [begun];
  }

  function tell(event: ModelStreamEvent): readonly ModelStreamEvent[] {
    const index = event["index"] as number;
    if (event.type === "content_block_start") return start(event, index);
    if (event.type === "message_delta") return [hasOtherCalls || answers.size === 0 ? event : ended(event)];
    if (!answers.has(index)) return [event];
    if (event.type === "content_block_stop") return answers.get(index) === 0 ? [write(index, "{}"), event] : [event];
    const { partial_json: text } = (event["delta"] ?? {}) as { readonly partial_json?: string };
    return event.type === "content_block_delta" && text !== undefined ? [write(index, text)] : [event];
  }

  return { tell: tool === undefined ? (event) => [event] : tell, isAnswer: (index) => answers.has(index) };
}

/** Replaces the stop reason `tool_use` by `end_turn`, because the model has called only the answer tool. */
function ended(event: ModelStreamEvent): ModelStreamEvent {
  const delta = event["delta"] as JsonObject;
  return delta["stop_reason"] === "tool_use" ? { ...event, delta: { ...delta, stop_reason: "end_turn" } } : event;
}
