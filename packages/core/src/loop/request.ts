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
import type { ModelRequest } from "../ports/model.ts";
import { type SessionState, contextOf } from "../log/state.ts";
import { brokenPairs, repairPairs } from "./tool-pairs.ts";
import { encodedRequest } from "./encoded-request.ts";
import { flatSchema } from "./flat-schema.ts";

type Turn = Omit<Message, "id">;
type Purpose = "step" | "summary" | "title" | "compaction";

const SUMMARY =
  "You have reached the limit of steps for this task. Without using any tool, summarise what you have done, what you found and what is left to do.";
const TITLE = "Write a title of at most six words for this conversation. Answer with the title alone.";
const COMPACTION =
  "Summarise this conversation so that it can go on from your summary alone: the task, what was decided and why, what was done and found, names of files and values that matter, and what is left to do.";

const CACHED = { type: "ephemeral" };

/** What the model is sent for a call, computed from the state before it: the same now and whenever it is asked again. */
export function requestOf(state: SessionState, purpose: Purpose, maxTokens: number): ModelRequest {
  const agent = state.agent as AgentConfig;
  const model = modelOf(state);
  if (purpose === "title") return titleRequest(state, model);
  const turns = conversation(state);
  const closing = purpose === "summary" ? SUMMARY : purpose === "compaction" ? COMPACTION : undefined;
  const schemas = agent.tool_schemas.map(({ timeout_ms: _, ...tool }) => ({
    ...tool,
    input_schema: flatSchema(tool.input_schema),
  }));
  const tools = [...schemas, ...agent.server_tools];
  const system = agent.system_prompt === "" ? [] : [{ type: "text", text: agent.system_prompt, cache_control: CACHED }];
  const said =
    closing === undefined ? goingOn(turns) : repairPairs([...turns, { role: "user", content: closing }]).messages;
  const { messages, settled } = withBreakpoints(said);
  const body: JsonObject = {
    ...agent.api_kwargs,
    model,
    max_tokens: maxTokens,
    ...(system.length > 0 && { system }),
    messages,
    ...(tools.length > 0 && { tools }),
    // Tools stay in the request when none may be used, because taking them out would lose the cached prefix.
    ...(closing && tools.length > 0 && { tool_choice: { type: "none" } }),
    ...thinkingWithin(agent, maxTokens),
    ...(state.containerId !== null && usesContainer(agent) && { container: state.containerId }),
  };
  // A context that was put together for this call alone is not worth keeping.
  const lasts =
    closing === undefined && contextOf(state) === state.transcript && turns === sentBefore.get(state.transcript)?.turns;
  return { body, betas: agent.beta_headers, encoded: () => encodedRequest(body, turns, lasts ? settled : 0) };
}

/** What the model was sent at one `step.started` of a log: nothing but the log is needed to say it. */
export function requestAt(sessionId: string, events: readonly Event[], sequence: number): ModelRequest | undefined {
  const started = events.find((event) => event.sequence === sequence);
  if (started?.event_type !== "step.started") return undefined;
  const before = events.filter((event) => event.sequence <= sequence);
  return requestOf(foldAll(sessionId, before), started.data.purpose, started.data.max_tokens);
}

/** The model of a run: the prompt's own, else the session's agent's. */
export function modelOf(state: SessionState): string {
  return state.run?.prompt.model ?? state.agent?.model ?? "";
}

/** The most tokens that an answer may have. The API counts thinking in, so a budget as large as the answer comes on top of it. */
export function outputLimit({ max_tokens, thinking_tokens }: AgentConfig): number {
  return thinking_tokens > 0 && max_tokens <= thinking_tokens ? max_tokens + thinking_tokens : max_tokens;
}

/** The smallest budget that the API takes. */
const LEAST_THINKING = 1024;

/** A budget for thinking that leaves room for an answer, or none where there is not enough for both. */
function thinkingWithin({ thinking_tokens }: AgentConfig, maxTokens: number): JsonObject {
  const budget = Math.min(Math.max(thinking_tokens, LEAST_THINKING), maxTokens - 1);
  if (thinking_tokens === 0 || budget < LEAST_THINKING) return {};
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

function titleRequest(state: SessionState, model: string): ModelRequest {
  const [first] = state.transcript;
  const text = first ? textOf(first.content).slice(0, 2000) : "";
  return {
    body: { model, max_tokens: 64, system: TITLE, messages: [{ role: "user", content: text || "(no text)" }] },
    betas: [],
  };
}

/** What is sent of a conversation up to some message. Memories are counted, because they come to a prompt that is there already. */
interface Sent {
  readonly turns: Turn[];
  until: number;
  readonly memories: number;
}

/** Messages are only added, and a long conversation goes out again with every step: what is sent of each is made once. */
const sentBefore = new WeakMap<readonly Turn[], Sent>();

/** The messages as they are sent: memories with their prompts, every call with its result, nothing that is empty. */
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
 * What memory found for a prompt stands before it in the same message, then and in every later call.
 *
 * Anywhere else, above all in the system prompt, new memories would change what comes before and lose the cached prefix.
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

/** Where the cache breaks is for the loop to say: marks of others would soon be more than the API takes. */
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

/** A model may answer with nothing but spaces, but does not take them back: such blocks and messages are not sent. */
function withoutNothing({ role, content }: Turn): Turn | null {
  if (typeof content === "string") return content.trim() === "" ? null : { role, content };
  const blocks = content.some(isBlank) ? content.filter((block) => !isBlank(block)) : content;
  return blocks.length === 0 ? null : { role, content: blocks };
}

/**
 * Two breakpoints at the end of the conversation: this call writes up to the last, the next one reads up to it.
 *
 * Before the first of them everything is as it was: so many turns are settled.
 */
function withBreakpoints(turns: readonly Turn[]): { readonly messages: readonly Turn[]; readonly settled: number } {
  const messages = [...turns];
  let left = 2;
  let settled = messages.length;
  for (let at = messages.length - 1; at >= 0 && left > 0; at--) {
    const message = messages[at];
    if (message?.role !== "user") continue;
    messages[at] = { role: "user", content: marked(blocksOf(message.content)) };
    left -= 1;
    settled = at;
  }
  return { messages, settled };
}

function marked(blocks: readonly ContentBlock[]): ContentBlock[] {
  const last = blocks.at(-1);
  if (!last) return [];
  return [...blocks.slice(0, -1), { ...last, cache_control: CACHED }];
}

/** A turn that the model paused goes on where it is; at a space at its end no model would. */
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
