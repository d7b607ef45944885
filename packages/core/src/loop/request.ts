import {
  type AgentConfig,
  type ContentBlock,
  type Event,
  type JsonObject,
  type Message,
  blocksOf,
  textOf,
} from "@skein/protocol";
import { foldAll } from "../fold.ts";
import type { ModelRequest } from "../model.ts";
import { type SessionState, contextOf } from "../state.ts";
import { brokenPairs, repaired } from "./doctor.ts";

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
  const shown = contextOf(state).map((message) => withMemories(message, state.recalled));
  const whole = brokenPairs(contextOf(state)).length === 0 ? shown : repaired(shown).messages;
  const messages = whole.flatMap(withoutNothing);
  const closing = purpose === "summary" ? SUMMARY : purpose === "compaction" ? COMPACTION : undefined;
  const tools = [...agent.tool_schemas, ...agent.server_tools];
  const system = agent.system_prompt === "" ? [] : [{ type: "text", text: agent.system_prompt, cache_control: CACHED }];
  const body: JsonObject = {
    ...agent.api_kwargs,
    model,
    max_tokens: maxTokens,
    ...(system.length > 0 && { system }),
    messages: withBreakpoints(closing ? [...messages, { role: "user", content: closing }] : messages),
    ...(tools.length > 0 && { tools }),
    // Tools stay in the request when none may be used, because taking them out would lose the cached prefix.
    ...(closing && tools.length > 0 && { tool_choice: { type: "none" } }),
    ...thinkingWithin(agent, maxTokens),
    ...(state.containerId !== null && usesContainer(agent) && { container: state.containerId }),
  };
  return { body, betas: agent.beta_headers };
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
  const text = `What you remember that may matter here:\n${memories.map((memory) => `- ${memory}`).join("\n")}`;
  return { role, content: [{ type: "text", text }, ...blocksOf(content)] };
}

/** A model may answer with nothing at all, but does not take it back: such blocks and messages are not sent. */
function withoutNothing({ role, content }: Omit<Message, "id">): readonly Omit<Message, "id">[] {
  if (typeof content === "string") return content === "" ? [] : [{ role, content }];
  const blocks = content.filter((block) => block.type !== "text" || block["text"] !== "");
  return blocks.length === 0 ? [] : [{ role, content: blocks }];
}

/** Two breakpoints at the end of the conversation: this call writes up to the last, the next one reads up to it. */
function withBreakpoints(messages: readonly Omit<Message, "id">[]): readonly JsonObject[] {
  const users = messages.flatMap(({ role }, index) => (role === "user" ? [index] : [])).slice(-2);
  return messages.map((message, index) =>
    users.includes(index) ? { role: message.role, content: marked(blocksOf(message.content)) } : { ...message },
  );
}

function marked(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
  const last = blocks.at(-1);
  if (!last) return blocks;
  return [...blocks.slice(0, -1), { ...last, cache_control: CACHED }];
}

function usesContainer(agent: AgentConfig): boolean {
  return agent.server_tools.some((tool) => String(tool["type"]).startsWith("code_execution"));
}
