import {
  type LeftOut,
  type ModelAbilities,
  type ModelCall,
  type PreparedCall,
  type Turn,
  askedOutput,
  carriedOver,
  carryOf,
} from "@skein/core";
import { type ContentBlock, type JsonObject, blocksOf } from "@skein/protocol";
import type { LargeBody } from "../large-body.ts";
import { encodedBody } from "./encoded-body.ts";

/** Marks the end of the cached part. Without `ttl`, the provider keeps this part for five minutes. */
const MARKS = { short: { type: "ephemeral" }, long: { type: "ephemeral", ttl: "1h" } };
type Mark = (typeof MARKS)[keyof typeof MARKS];

interface MessagesCall extends PreparedCall {
  /** Returns the body with `stream: true` as JSON bytes. This is faster than `JSON.stringify`. */
  readonly encoded: () => Uint8Array | LargeBody;
  /** The name of the tool through which the model gives a structured answer, if the request has such a tool. */
  readonly answerTool: string | undefined;
}

/**
 * Makes the body of a call to the Messages API. The log has blocks in the format of this API, so the blocks are sent
 * unchanged.
 */
export function messagesBody(
  call: ModelCall,
  { name, isClaude, abilities }: { name: string; isClaude: boolean; abilities: ModelAbilities },
): MessagesCall {
  const read = carriedOver(call.turns, { name: call.model, readsClaude: isClaude, abilities });
  const { leftOut } = read;
  const mark = call.cache === "off" || !abilities.caching ? undefined : MARKS[call.cache];
  const turns = isClaude ? read.turns : read.turns.map(withoutCarry);
  const { messages, settled } = mark ? withBreakpoints(turns, mark) : { messages: turns, settled: 0 };
  const output = askedOutput(call, abilities);
  const tools = abilities.tools ? [...call.tools, ...call.serverTools, ...(output?.tool ? [output.tool] : [])] : [];
  const thinking = thinkingOf(call, abilities);
  const system = output?.system ?? call.system;
  const body: JsonObject = {
    ...call.extra,
    model: name,
    max_tokens: call.maxTokens,
    ...(system !== "" && { system: systemOf(system, mark) }),
    messages,
    ...(tools.length > 0 && { tools }),
    // Tools stay in the request even if none may be used. Without them, the cached prefix would be lost.
    ...(tools.length > 0 && toolChoiceOf(call, abilities)),
    ...thinking.fields,
    ...(output?.schema && { output_config: { format: { type: "json_schema", schema: output.schema } } }),
    ...(call.containerId !== null && { container: call.containerId }),
  };
  const growing = turns === call.turns ? call.growing : undefined;
  return {
    api: "messages",
    body,
    leftOut: [...leftOut, ...thinking.leftOut],
    answerTool: output?.tool?.name,
    encoded: () => encodedBody(body, growing ?? turns, growing ? settled : 0),
  };
}

function toolChoiceOf({ toolChoice }: ModelCall, { parallelTools }: ModelAbilities): JsonObject {
  if (toolChoice === "none") return { tool_choice: { type: "none" } };
  return parallelTools ? {} : { tool_choice: { type: "auto", disable_parallel_tool_use: true } };
}

/**
 * Removes the field `carry` from the blocks. Skein sets this field to recognise the model's own thinking and tool
 * calls. The provider does not know the field.
 */
function withoutCarry({ role, content }: Turn): Turn {
  if (typeof content === "string" || !content.some((block) => carryOf(block))) return { role, content };
  return { role, content: content.map(({ carry: _, ...block }) => block) };
}

function systemOf(system: string, mark: Mark | undefined): unknown {
  return mark ? [{ type: "text", text: system, cache_control: mark }] : system;
}

/** The smallest budget that the API accepts. */
const LEAST_THINKING = 1024;

/** Returns a thinking budget that leaves room for an answer. Returns no budget if `maxTokens` is too small for both. */
function thinkingOf(
  { turns, thinkingTokens, maxTokens }: ModelCall,
  abilities: ModelAbilities,
): { readonly fields: JsonObject; readonly leftOut: readonly LeftOut[] } {
  const budget = Math.min(Math.max(thinkingTokens, LEAST_THINKING), maxTokens - 1);
  if (thinkingTokens === 0 || budget < LEAST_THINKING || !abilities.thinking) return { fields: {}, leftOut: [] };
  // While thinking is on, the API requires signed thinking before the tool calls whose results end the conversation. If
  // another model asked for these calls, there is no signed thinking.
  if (openCalls(turns).some((block) => carryOf(block)))
    return {
      fields: {},
      leftOut: [{ turn: turns.length - 1, block: "thinking", why: "The open calls belong to another model." }],
    };
  return { fields: { thinking: { type: "enabled", budget_tokens: budget } }, leftOut: [] };
}

/** Returns the tool calls of the last assistant turn, if their results end the conversation. */
function openCalls(turns: readonly Turn[]): readonly ContentBlock[] {
  const [asked, results] = turns.slice(-2);
  if (asked?.role !== "assistant" || results?.role !== "user") return [];
  return blocksOf(asked.content).filter(({ type }) => type === "tool_use");
}

/**
 * Sets two cache breakpoints at the end of the conversation. This call writes the cache up to the last breakpoint. In
 * the next call, the first breakpoint reads the cache up to that turn.
 *
 * `settled` counts the turns before the first breakpoint, which do not change any more.
 */
function withBreakpoints(
  turns: readonly Turn[],
  mark: Mark,
): { readonly messages: readonly Turn[]; readonly settled: number } {
  const messages = [...turns];
  let left = 2;
  let settled = messages.length;
  for (let at = messages.length - 1; at >= 0 && left > 0; at--) {
    const message = messages[at];
    if (message?.role !== "user") continue;
    messages[at] = { role: "user", content: marked(blocksOf(message.content), mark) };
    left -= 1;
    settled = at;
  }
  return { messages, settled };
}

function marked(blocks: readonly ContentBlock[], mark: Mark): ContentBlock[] {
  const last = blocks.at(-1);
  if (!last) return [];
  return [...blocks.slice(0, -1), { ...last, cache_control: mark }];
}
