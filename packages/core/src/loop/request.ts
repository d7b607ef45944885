import {
  type AgentConfig,
  type ContentBlock,
  type Event,
  type JsonObject,
  type Message,
  blocksOf,
  textOf,
} from "@skein/protocol";
import { isBlank } from "../sessions/content-problem.ts";
import { foldAll } from "../log/fold.ts";
import type { ModelCall, Turn } from "../ports/model.ts";
import { type SessionState, contextOf } from "../log/state.ts";
import { brokenPairs, repairPairs } from "./tool-pairs.ts";
import { systemOf } from "./system-prompt.ts";
import { flatSchema } from "./flat-schema.ts";

type Purpose = "step" | "summary" | "title" | "compaction";

const SUMMARY =
  "You have reached the limit of steps for this task. Without using any tool, summarise what you have done, what you found and what is left to do.";
const TITLE = "Write a title of at most six words for this conversation. Answer with the title alone.";
const COMPACTION =
  "Summarise this conversation so that it can go on from your summary alone: the task, what was decided and why, what was done and found, names of files and values that matter, and what is left to do.";

/** Computes a model call from the state before the call. The same state always gives the same call. */
export function callOf(state: SessionState, purpose: Purpose, maxTokens: number): ModelCall {
  const agent = state.agent as AgentConfig;
  if (purpose === "title") return titleCall(state);
  const conversationTurns = conversation(state);
  const closing = purpose === "summary" ? SUMMARY : purpose === "compaction" ? COMPACTION : undefined;
  const turns =
    closing === undefined
      ? goingOn(conversationTurns)
      : repairPairs([...conversationTurns, { role: "user", content: closing }]).messages;
  // The turns are given as `growing`, whose JSON is kept, only if later calls extend the same array.
  const lasts =
    closing === undefined &&
    contextOf(state) === state.transcript &&
    conversationTurns === sentBefore.get(state.transcript)?.turns;
  return {
    model: modelOf(state),
    sessionId: state.sessionId,
    system: (purpose === "step" || purpose === "summary" ? state.run?.modelHook?.system : null) ?? systemOf(agent),
    turns,
    ...(lasts && { growing: conversationTurns }),
    tools: agent.tool_schemas.map(({ timeout_ms: _, ...tool }) => ({
      ...tool,
      input_schema: flatSchema(tool.input_schema),
    })),
    serverTools: agent.server_tools,
    toolChoice: closing === undefined ? "auto" : "none",
    maxTokens,
    thinkingTokens: agent.thinking_tokens,
    cache: agent.cache ?? "short",
    ...(agent.output_schema && closing === undefined && { output: outputOf(agent.output_schema, state) }),
    extra: agent.api_kwargs,
    betas: agent.beta_headers,
    containerId: usesContainer(agent) ? state.containerId : null,
  };
}

function outputOf(schema: JsonObject, { run }: SessionState): NonNullable<ModelCall["output"]> {
  return { name: "answer", schema, ...(run?.schemaRefused && { isRefused: true }) };
}

/** Computes the model call of a `step.started`, from the log only. */
export function callAt(sessionId: string, events: readonly Event[], sequence: number): ModelCall | undefined {
  const started = events.find((event) => event.sequence === sequence);
  if (started?.event_type !== "step.started") return undefined;
  const before = events.filter((event) => event.sequence <= sequence);
  return callOf(foldAll(sessionId, before), started.data.purpose, started.data.max_tokens);
}

/** Returns the model of the next call: a fallback, or the model of the prompt, or the model of the agent. */
export function modelOf(state: SessionState): string {
  return state.run?.fallback?.model ?? firstModelOf(state);
}

/** Returns the model of the run before any fallback. */
export function firstModelOf(state: SessionState): string {
  return state.run?.prompt.model ?? state.agent?.model ?? "";
}

/**
 * Returns the most tokens that an answer may have. The model's API counts thinking as part of the answer. So the
 * thinking budget is added to a limit that is not larger than the budget.
 */
export function outputLimit({ max_tokens, thinking_tokens }: AgentConfig): number {
  return thinking_tokens > 0 && max_tokens <= thinking_tokens ? max_tokens + thinking_tokens : max_tokens;
}

function titleCall(state: SessionState): ModelCall {
  const [first] = state.transcript;
  const text = first ? textOf(first.content).slice(0, 2000) : "";
  return {
    model: modelOf(state),
    sessionId: state.sessionId,
    system: TITLE,
    turns: [{ role: "user", content: text || "(no text)" }],
    tools: [],
    serverTools: [],
    toolChoice: "auto",
    maxTokens: 64,
    thinkingTokens: 0,
    cache: "off",
    extra: {},
    betas: [],
    containerId: null,
  };
}

/**
 * The first `until` messages of a conversation in the form for the model's API. `memories` is how many prompts had
 * memories at that time: an earlier prompt can still get memories, and then this form is made again.
 */
interface Sent {
  readonly turns: Turn[];
  until: number;
  readonly memories: number;
}

/**
 * The form of each conversation for the model's API. A conversation only grows, so this form is extended and not made
 * again for each step.
 */
const sentBefore = new WeakMap<readonly Turn[], Sent>();

/**
 * Returns the messages in the form for the model's API: with memories, with a result for every call, and without empty
 * messages.
 */
function conversation(state: SessionState): readonly Turn[] {
  const { recalled } = state;
  const context = contextOf(state);
  const wire = (message: Turn): Turn => unmarked(withMemories(message, recalled));
  if (brokenPairs(context).length > 0)
    return repairPairs(context.map(wire)).messages.flatMap((message) => withoutNothing(message) ?? []);
  const memories = Object.keys(recalled).length;
  const before = sentBefore.get(context);
  const sent = before?.memories === memories ? before : { turns: [], until: 0, memories };
  for (; sent.until < context.length; sent.until++) {
    const turn = withoutNothing(wire(context[sent.until] as Turn));
    if (turn) sent.turns.push(turn);
  }
  sentBefore.set(context, sent);
  return sent.turns;
}

/**
 * Puts the memories for a prompt before its text, in this and every later call. At another place, for example in the
 * system prompt, new memories would change the cached prefix.
 */
function withMemories(
  message: Omit<Message, "id"> & { readonly id?: string },
  recalled: SessionState["recalled"],
): Omit<Message, "id"> {
  const { id = "", role, content } = message;
  const memories = Object.hasOwn(recalled, id) ? recalled[id] : undefined;
  if (!memories) return { role, content };
  return { role, content: [{ type: "text", text: memoryText(memories) }, ...blocksOf(content)] };
}

export function memoryText(memories: readonly string[]): string {
  return `What you remember that may matter here:\n${memories.map((memory) => `- ${memory}`).join("\n")}`;
}

/** Removes the cache marks of callers. The model's adapter sets its own cache marks, and the API accepts only a few. */
function unmarked(turn: Turn): Turn {
  if (typeof turn.content === "string" || !turn.content.some(isMarked)) return turn;
  return { role: turn.role, content: turn.content.map(unmarkedBlock) };
}

function isMarked(block: ContentBlock): boolean {
  return "cache_control" in block || innerBlocks(block).some((inner) => "cache_control" in inner);
}

function unmarkedBlock({ cache_control: _, ...block }: ContentBlock): ContentBlock {
  const inner = innerBlocks(block);
  return inner.length === 0 ? block : { ...block, content: inner.map(unmarkedBlock) };
}

function innerBlocks({ type, content }: ContentBlock): readonly ContentBlock[] {
  return type === "tool_result" && Array.isArray(content) ? (content as ContentBlock[]) : [];
}

/** Removes blank blocks and messages: a model may produce them, but the API rejects them in a request. */
function withoutNothing({ role, content }: Turn): Turn | null {
  if (typeof content === "string") return content.trim() === "" ? null : { role, content };
  const blocks = content.some(isBlank) ? content.filter((block) => !isBlank(block)) : content;
  return blocks.length === 0 ? null : { role, content: blocks };
}

/** Removes the trailing space of a turn that the model paused, because the API rejects it in a request. */
function goingOn(turns: readonly Turn[]): readonly Turn[] {
  const last = turns.at(-1);
  const end = last?.role === "assistant" && typeof last.content !== "string" ? last.content.at(-1) : undefined;
  if (!last || end?.type !== "text" || typeof end["text"] !== "string") return turns;
  const content = [...blocksOf(last.content).slice(0, -1), { ...end, text: end["text"].trimEnd() }];
  return [...turns.slice(0, -1), { role: "assistant", content }];
}

function usesContainer(agent: AgentConfig): boolean {
  return agent.server_tools.some((tool) => String(tool["type"]).startsWith("code_execution"));
}
